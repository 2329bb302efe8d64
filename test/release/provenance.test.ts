import { describe, expect, it } from "vitest";
import { type Build, buildType, provenanceOf } from "../../release/provenance.ts";
import { documentation } from "../../release/registry.ts";

const build: Build = {
  repository: "https://git.example.com/latchkey",
  ref: "refs/tags/v0.1.0",
  commit: "1".repeat(40),
  lockSha256: "2".repeat(64),
  builder: "https://builder.example.com/1",
};
const b = { name: "b", sha256: "b".repeat(64) };
const a = { name: "a", sha256: "a".repeat(64) };

describe("the provenance of a release", () => {
  it("is a statement of in-toto with the predicate of SLSA, sorted by name", () => {
    expect(provenanceOf([b, a], build)).toEqual({
      _type: "https://in-toto.io/Statement/v1",
      subject: [
        { name: "a", digest: { sha256: a.sha256 } },
        { name: "b", digest: { sha256: b.sha256 } },
      ],
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {
        buildDefinition: {
          buildType,
          externalParameters: { ref: build.ref },
          resolvedDependencies: [
            {
              uri: "git+https://git.example.com/latchkey@refs/tags/v0.1.0",
              digest: { gitCommit: build.commit },
            },
            { name: "package-lock.json", digest: { sha256: build.lockSha256 } },
          ],
        },
        runDetails: { builder: { id: build.builder } },
      },
    });
  });

  it("has the times that it is given", () => {
    const times = { startedOn: new Date(0), finishedOn: new Date(60_000) };
    expect(provenanceOf([a], { ...build, times }).predicate.runDetails.metadata).toEqual({
      startedOn: "1970-01-01T00:00:00.000Z",
      finishedOn: "1970-01-01T00:01:00.000Z",
    });
  });

  it("has a build type that a page describes", () => {
    expect(buildType.startsWith(`${documentation}/`)).toBe(true);
  });

  it.each([
    ["no subject", [], {}, "a statement needs a subject"],
    ["a name twice", [a, b, a], {}, 'two subjects are named "a"'],
    ["a digest in upper case", [{ name: "a", sha256: "A".repeat(64) }], {}, "is not a SHA-256"],
    ["a short commit", [a], { commit: "1234567" }, '"1234567" is not a commit'],
    ["no digest of the lock", [a], { lockSha256: "" }, '"" is not a SHA-256'],
  ])("with %s is refused", (_rule, subjects, fields, message) => {
    expect(() => provenanceOf(subjects, { ...build, ...fields })).toThrow(message);
  });
});
