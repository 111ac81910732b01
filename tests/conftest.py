"""Settings that every test shares."""

import os
import shutil

import pytest
from hypothesis import settings

# Time limits for single examples fail on busy machines; compiled kernels are slow the first time.
settings.register_profile("polyceptron", deadline=None, print_blob=True)
settings.load_profile("polyceptron")


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory):
    """Converted rows go nowhere near the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYCEPTRON_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("own")))
        yield


_NEEDED = os.environ.get("POLYCEPTRON_NEEDS_BROWSER") == "1"
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


def _without(reason):
    if _NEEDED:
        pytest.fail(f"POLYCEPTRON_NEEDS_BROWSER is 1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    """A real one, where there is any; POLYCEPTRON_NEEDS_BROWSER=1 fails without."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without("playwright is not installed")
    if _CHROMIUM is None:
        _without("there is no chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()
