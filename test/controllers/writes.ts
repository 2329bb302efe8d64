import type { Manifest } from "../../src/api/object.ts";
import { resources } from "../../src/api/resources.ts";
import type { Write } from "../../src/domain/plan/plan.ts";

const resource = resources.secrets;
const ref = (name: string) => ({ namespace: "ns", name });
const body = { metadata: { resourceVersion: "1" } };

function manifest(name: string, versions: object = {}): Manifest {
  return { apiVersion: "v1", kind: "Secret", metadata: { ...ref(name), ...versions } };
}

/** Creates a Secret in namespace `ns`. */
export function create(name: string): Write {
  return { do: "create", resource, object: manifest(name) };
}

/** Creates a Secret with dry-run. */
export function probe(name: string): Write {
  return { do: "dry-run-create", resource, object: manifest(name) };
}

/** Replaces version 1 of a Secret. */
export function replace(name: string): Write {
  return { do: "replace", resource, object: manifest(name, body.metadata) };
}

/** Patches version 1 of a Secret. */
export function patch(name: string): Write {
  return { do: "patch", resource, ref: ref(name), body };
}

/** Patches the status of version 1 of a Secret. */
export function status(name: string): Write {
  return {
    do: "patch",
    resource,
    ref: ref(name),
    subresource: "status",
    body: { ...body, status: {} },
  };
}

/** Deletes version 1 of a Secret with uid `u`. */
export function remove(name: string): Write {
  return { do: "delete", resource, ref: ref(name), uid: "u", resourceVersion: "1" };
}

/** Records an Event with the reason `Failed`. */
export const recordEvent: Write = {
  do: "record-event",
  event: {
    resource,
    subject: { ...ref("a"), uid: "u" },
    type: "Warning",
    reason: "Failed",
    note: "",
    deduplicationKey: "",
  },
};
