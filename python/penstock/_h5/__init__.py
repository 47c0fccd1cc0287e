"""What `penstock.h5` is made of."""
