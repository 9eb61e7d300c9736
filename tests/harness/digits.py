"""Writes the digits data set of scikit-learn (1,797 x 64, integers 0 to 16) as bytes to standard output."""
import sys

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit(77)
sys.stdout.buffer.write(load_digits().data.astype("uint8").tobytes())
