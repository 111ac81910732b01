"""Settings that every test shares."""

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
        yield
