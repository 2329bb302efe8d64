import { expect, test } from "vitest";
import type { AdmissionRequest } from "../../src/api/admission-review.ts";
import { stamped } from "../../src/domain/requester-stamp.ts";

const name = (suffix = "") => `management.service/requester${suffix}`;
const alice = { username: "alice", uid: "4711", groups: ["devs", "ops"], extra: {} };
const withKey = { ...alice, extra: { "management.service/key-id": ["k-17"] } };
const stamp = { [name()]: "alice", [name("-uid")]: "4711", [name("-groups")]: "devs\nops" };
const forged = { [name()]: "mallory", [name("-key-id")]: "stolen", "example.com/a": "b" };

function annotated(given?: object): AdmissionRequest["object"] {
  return { metadata: { name: "k", ...(given === undefined ? {} : { annotations: given }) }, spec: {} };
}

test.each<[string, AdmissionRequest["user"], AdmissionRequest["object"], AdmissionRequest["oldObject"], AdmissionRequest["object"]]>([
  ["a create gets it", alice, annotated(), undefined, annotated(stamp)],
  ["a create with annotations of null gets it", alice, { metadata: { name: "k", annotations: null }, spec: {} }, undefined, annotated(stamp)],
  ["a create with a key names the key", withKey, annotated(), undefined, annotated({ ...stamp, [name("-key-id")]: "k-17" })],
  ["a create loses what is forged, and nothing else", alice, annotated(forged), undefined, annotated({ "example.com/a": "b", ...stamp })],
  ["an update gets the stored one back", withKey, annotated(forged), annotated(stamp), annotated({ "example.com/a": "b", ...stamp })],
  ["an update that leaves it out gets it back", withKey, annotated(), annotated(stamp), annotated(stamp)],
  ["an update of what has none loses what is forged", alice, annotated(forged), annotated(), annotated({ "example.com/a": "b" })],
  ["an update of what has none stays as it is", alice, annotated(), annotated(), annotated()],
])("%s", (_rule, user, object, oldObject, result) => {
  expect(stamped({ uid: "r", user, isDryRun: false, namespace: "", object, oldObject })).toEqual(result);
});
