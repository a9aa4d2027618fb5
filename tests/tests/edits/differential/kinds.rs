//! Each exception, shown on a case of its own.
