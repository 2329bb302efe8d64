import { expect, test } from "vitest";
import type { AdmissionRequest } from "../../../src/api/admission-review.ts";
import {
  withRequesterAnnotations,
  asNewObject,
} from "../../../src/domain/requester/requester-annotations.ts";

const name = (suffix = "") => `management.service/requester${suffix}`;
const alice = { username: "alice", uid: "4711", groups: ["devs", "ops"], extra: {} };
const withKey = { ...alice, extra: { "management.service/key-id": ["k-17"] } };
const stamp = { [name()]: "alice", [name("-uid")]: "4711", [name("-groups")]: "devs\nops" };
const controller = {
  ...alice,
  username: "system:serviceaccount:latchkey-system:latchkey-controller",
};
const parent = "0b0ff0b4-5bd9-4a0c-9d43-8a2c2f3b9f6e";
const times = {
  "management.service/created-at": "2025-01-01T00:00:00Z",
  "management.service/expired-at": "2025-02-01T00:00:00.5+01:00",
};
const later = { "management.service/created-at": "2026-01-01T00:00:00Z" };
const forEast = { "management.service/audience-cluster": "east" };
const forWest = { "management.service/audience-cluster": "west" };
const former = { "management.service/former-requester": "bob" };
const stampOfBob = {
  [name()]: "bob",
  [name("-uid")]: "1",
  [name("-groups")]: "",
  [name("-key-id")]: parent,
};
const forged = { [name()]: "mallory", [name("-key-id")]: "stolen", "example.com/a": "b" };

function annotated(given?: object, spec: object = {}): Readonly<Record<string, unknown>> {
  return { metadata: { name: "k", ...(given === undefined ? {} : { annotations: given }) }, spec };
}

const keyed = (key: string, given: object = {}) => annotated(given, { key });

test.each<
  [
    string,
    AdmissionRequest["user"],
    AdmissionRequest["object"],
    AdmissionRequest["oldObject"],
    AdmissionRequest["object"],
  ]
>([
  ["sets them on create", alice, annotated(), undefined, annotated(stamp)],
  [
    "sets them on create if annotations are null",
    alice,
    { metadata: { name: "k", annotations: null }, spec: {} },
    undefined,
    annotated(stamp),
  ],
  [
    "sets the key id on create with a key",
    withKey,
    annotated(),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: "k-17" }),
  ],
  [
    "removes forged ones on create, and nothing else",
    alice,
    annotated(forged),
    undefined,
    annotated({ "example.com/a": "b", ...stamp }),
  ],
  [
    "restores the stored ones on update",
    withKey,
    annotated(forged),
    annotated(stamp),
    annotated({ "example.com/a": "b", ...stamp }),
  ],
  ["restores removed ones on update", withKey, annotated(), annotated(stamp), annotated(stamp)],
  [
    "removes forged ones on update of an object without any",
    alice,
    annotated(forged),
    annotated(),
    annotated({ "example.com/a": "b" }),
  ],
  [
    "changes nothing on update of an object without any",
    alice,
    annotated(),
    annotated(),
    annotated(),
  ],
  [
    "keeps the audience of a create",
    alice,
    annotated(forEast),
    undefined,
    annotated({ ...stamp, ...forEast }),
  ],
  [
    "restores a changed audience",
    controller,
    annotated({ ...stamp, ...forWest }),
    annotated({ ...stamp, ...forEast }),
    annotated({ ...stamp, ...forEast }),
  ],
  [
    "restores a removed audience",
    alice,
    annotated(stamp),
    annotated({ ...stamp, ...forEast }),
    annotated({ ...stamp, ...forEast }),
  ],
  [
    "removes an audience that a create did not have",
    alice,
    annotated({ ...stamp, ...forEast }),
    annotated(stamp),
    annotated(stamp),
  ],
  [
    "keeps the parent key that a create without a key sets",
    alice,
    annotated({ [name("-key-id")]: parent }),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: parent }),
  ],
  [
    "replaces the parent key that a create with a key sets",
    withKey,
    annotated({ [name("-key-id")]: parent }),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: "k-17" }),
  ],
  [
    "keeps the start and the end of a lifetime on create",
    alice,
    annotated(times),
    undefined,
    annotated({ ...stamp, ...times }),
  ],
  [
    "removes invalid times on create",
    alice,
    annotated({
      "management.service/created-at": "2025-13-01T00:00:00Z",
      "management.service/expired-at": "soon",
    }),
    undefined,
    annotated(stamp),
  ],
  [
    "restores the stored times on update",
    alice,
    annotated(later),
    annotated({ ...stamp, ...times }),
    annotated({ ...stamp, ...times }),
  ],
  [
    "keeps the times that the controller sets",
    controller,
    annotated({ ...stamp, ...later }),
    annotated({ ...stamp, ...times }),
    annotated({ ...stamp, ...later }),
  ],
  [
    "makes the user the requester for a new digest, and removes the parent key",
    alice,
    keyed("sha256:b", { ...stampOfBob, ...times }),
    keyed("sha256:a", { ...stampOfBob, ...times }),
    keyed("sha256:b", { ...stamp, ...former, ...times }),
  ],
  [
    "makes the user the requester for a digest instead of a plain key",
    alice,
    keyed("sha256:b", stampOfBob),
    keyed("plain", stampOfBob),
    keyed("sha256:b", { ...stamp, ...former }),
  ],
  [
    "keeps the requester for a plain key",
    alice,
    keyed("plain"),
    keyed("sha256:a", stampOfBob),
    keyed("plain", stampOfBob),
  ],
  [
    "keeps the requester for the stored digest",
    alice,
    keyed("sha256:a"),
    keyed("sha256:a", stampOfBob),
    keyed("sha256:a", stampOfBob),
  ],
  [
    "keeps the requester who sets a new digest",
    alice,
    keyed("sha256:b"),
    keyed("sha256:a", stamp),
    keyed("sha256:b", stamp),
  ],
  [
    "sets no requester for a new digest of an object without one",
    alice,
    keyed("sha256:b"),
    keyed("sha256:a"),
    keyed("sha256:b"),
  ],
  [
    "keeps the former requester",
    alice,
    keyed("sha256:b"),
    keyed("sha256:b", { ...stamp, ...former }),
    keyed("sha256:b", { ...stamp, ...former }),
  ],
  [
    "removes the former requester if the controller does",
    controller,
    keyed("sha256:b", stamp),
    keyed("sha256:b", { ...stamp, ...former }),
    keyed("sha256:b", stamp),
  ],
])("requester annotations: %s", (_rule, user, object, oldObject, result) => {
  const request = { uid: "r", user, isDryRun: false, namespace: "", object, oldObject };
  expect(withRequesterAnnotations(request, "latchkey-system")).toEqual(result);
});

test("requester annotations: the controller of another namespace is a user like any other", () => {
  const oldObject = keyed("sha256:b", { ...stamp, ...former });
  const object = keyed("sha256:b", stamp);
  const request = { uid: "r", user: controller, isDryRun: false, namespace: "", object, oldObject };
  expect(withRequesterAnnotations(request, "keys")).toEqual(oldObject);
});

const now = Date.parse("2026-01-01T00:00:00.9Z");
const start = { "management.service/created-at": "2026-01-01T00:00:00Z" };
const earlier = { "management.service/created-at": "2025-01-01T00:00:00Z" };
const cleanup = "management.service/cleanup";
const due = { annotations: start, finalizers: [cleanup] };

test.each<[string, object, object]>([
  ["of an object without metadata are added", {}, { metadata: due }],
  [
    "of an object with null in their place are added",
    { metadata: { annotations: null, finalizers: null } },
    { metadata: due },
  ],
  [
    "are added beside those of others",
    { metadata: { name: "k", annotations: { a: "b" }, finalizers: ["example.com/x"] }, spec: {} },
    {
      metadata: {
        name: "k",
        annotations: { a: "b", ...start },
        finalizers: ["example.com/x", cleanup],
      },
      spec: {},
    },
  ],
  [
    "of a restored object are kept",
    { metadata: { annotations: earlier, finalizers: [cleanup] } },
    { metadata: { annotations: earlier, finalizers: [cleanup] } },
  ],
  [
    "in the future are replaced",
    { metadata: { annotations: { "management.service/created-at": "2026-01-01T00:00:01Z" } } },
    { metadata: due },
  ],
])("the finalizer and the start of a lifetime %s", (_rule, object, then) => {
  expect(asNewObject({ object: { ...object }, oldObject: undefined }, now)).toEqual(then);
});

test("an update is not changed", () => {
  const object = { metadata: { name: "k" } };
  expect(asNewObject({ object, oldObject: {} }, now)).toBe(object);
});
