"""The paper's table measured again, and its open question: `polyceptron reproduce` and `study`."""
