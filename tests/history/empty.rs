//! Nothing: only the sources of what the manifests name are wanted.
