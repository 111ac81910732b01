"""`polyceptron cache`: converted rows that are kept on disk."""

from __future__ import annotations

import click

from polyceptron.cli._terminal import table


@click.command(short_help="List or remove converted rows.")
@click.option("--list", "listing", is_flag=True, help="Say what is kept, the default.")
@click.option("--clear", is_flag=True, help="Remove all of it; the next fit converts again.")
@click.option(
    "--cache-dir", type=click.Path(file_okay=False), help="Where, if not in your own folder."
)
def cache(listing: bool, clear: bool, cache_dir: str | None) -> None:
    """List the rows that `fit --out-of-core` has converted, or remove them.

    They are in your folder for caches, or in that which POLYCEPTRON_CACHE or --cache-dir names.
    What is not used for 30 days is removed by itself.
    """
    from polyceptron.data.cache import cache_root, kept_entries, remove_entry

    if listing and clear:
        raise click.UsageError("--list and --clear exclude each other.")
    root = cache_root(cache_dir)
    found = kept_entries(root)
    total = f"{sum(entry.size for entry in found) / 1e6:.1f} MB in {root}"
    if clear:
        for entry in found:
            remove_entry(entry.folder)
        click.echo(f"Removed: {len(found)} of {total}")
        return
    click.echo(f"Kept: {len(found)}, {total}")
    if found:
        rows = [[e.folder.name, e.rows, f"{e.size / 1e6:.1f}", f"{e.days:.0f}"] for e in found]
        click.echo(table(["entry", "rows", "MB", "days old"], rows))
