/**
 * The container registry and the path in it, without a scheme: the image is `<registry>/latchkey`, and
 * the charts are below `oci://<registry>/charts`. A release sets it here, and nowhere else.
 */
export const registry = "containers.example.com/latchkey";

/** Where the pages of docs/ are published; a release sets it here, and nowhere else. */
export const documentation = "https://docs.example.com/latchkey";
