"""Settings that every test shares."""

from hypothesis import settings

# Time limits for single examples fail on busy machines; compiled kernels are slow the first time.
settings.register_profile("polyceptron", deadline=None, print_blob=True)
settings.load_profile("polyceptron")
