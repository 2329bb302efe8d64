import { expect, test } from "vitest";
import type { AdmissionRequest } from "../../../src/api/admission-review.ts";
import { withRequesterAnnotations } from "../../../src/domain/requester/requester-annotations.ts";

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
  ["a create gets it", alice, annotated(), undefined, annotated(stamp)],
  [
    "a create with annotations of null gets it",
    alice,
    { metadata: { name: "k", annotations: null }, spec: {} },
    undefined,
    annotated(stamp),
  ],
  [
    "a create with a key names the key",
    withKey,
    annotated(),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: "k-17" }),
  ],
  [
    "a create loses what is forged, and nothing else",
    alice,
    annotated(forged),
    undefined,
    annotated({ "example.com/a": "b", ...stamp }),
  ],
  [
    "an update gets the stored one back",
    withKey,
    annotated(forged),
    annotated(stamp),
    annotated({ "example.com/a": "b", ...stamp }),
  ],
  [
    "an update that leaves it out gets it back",
    withKey,
    annotated(),
    annotated(stamp),
    annotated(stamp),
  ],
  [
    "an update of what has none loses what is forged",
    alice,
    annotated(forged),
    annotated(),
    annotated({ "example.com/a": "b" }),
  ],
  ["an update of what has none stays as it is", alice, annotated(), annotated(), annotated()],
  [
    "a create without a key keeps the parent that it names",
    alice,
    annotated({ [name("-key-id")]: parent }),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: parent }),
  ],
  [
    "a create with a key loses another parent that it names",
    withKey,
    annotated({ [name("-key-id")]: parent }),
    undefined,
    annotated({ ...stamp, [name("-key-id")]: "k-17" }),
  ],
  [
    "a create keeps when a lifetime began and ended",
    alice,
    annotated(times),
    undefined,
    annotated({ ...stamp, ...times }),
  ],
  [
    "a create loses times that are none",
    alice,
    annotated({
      "management.service/created-at": "2025-13-01T00:00:00Z",
      "management.service/expired-at": "soon",
    }),
    undefined,
    annotated(stamp),
  ],
  [
    "an update gets the stored times back",
    alice,
    annotated(later),
    annotated({ ...stamp, ...times }),
    annotated({ ...stamp, ...times }),
  ],
  [
    "an update of the controller's sets them",
    controller,
    annotated({ ...stamp, ...later }),
    annotated({ ...stamp, ...times }),
    annotated({ ...stamp, ...later }),
  ],
  [
    "a new digest makes the object another user's, without its parent",
    alice,
    keyed("sha256:b", { ...stampOfBob, ...times }),
    keyed("sha256:a", { ...stampOfBob, ...times }),
    keyed("sha256:b", { ...stamp, ...former, ...times }),
  ],
  [
    "a new digest in the place of a plain key does, too",
    alice,
    keyed("sha256:b", stampOfBob),
    keyed("plain", stampOfBob),
    keyed("sha256:b", { ...stamp, ...former }),
  ],
  [
    "a plain key does not",
    alice,
    keyed("plain"),
    keyed("sha256:a", stampOfBob),
    keyed("plain", stampOfBob),
  ],
  [
    "the stored digest does not",
    alice,
    keyed("sha256:a"),
    keyed("sha256:a", stampOfBob),
    keyed("sha256:a", stampOfBob),
  ],
  [
    "nor does a new digest of the requester",
    alice,
    keyed("sha256:b"),
    keyed("sha256:a", stamp),
    keyed("sha256:b", stamp),
  ],
  [
    "nor a new digest in what records no requester",
    alice,
    keyed("sha256:b"),
    keyed("sha256:a"),
    keyed("sha256:b"),
  ],
  [
    "who had an object stays recorded",
    alice,
    keyed("sha256:b"),
    keyed("sha256:b", { ...stamp, ...former }),
    keyed("sha256:b", { ...stamp, ...former }),
  ],
  [
    "until the controller takes that off",
    controller,
    keyed("sha256:b", stamp),
    keyed("sha256:b", { ...stamp, ...former }),
    keyed("sha256:b", stamp),
  ],
])("%s", (_rule, user, object, oldObject, result) => {
  expect(
    withRequesterAnnotations({ uid: "r", user, isDryRun: false, namespace: "", object, oldObject }),
  ).toEqual(result);
});
