//! Raw system calls that the tests make and no library wraps.
