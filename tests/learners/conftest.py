"""What pytest is not to import: the toy learner would register itself for every test."""

collect_ignore = ["toy_learner.py"]
