import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { parseGroupDiscovery } from "../../src/api/discovery.ts";
import { parseEndpointToken } from "../../src/api/endpoint-token.ts";
import { annotations } from "../../src/api/names.ts";
import { parseOwnedAccessKey } from "../../src/api/owned-access-key.ts";
import { resources } from "../../src/api/resources.ts";
import { parseRole, parseRoleBinding } from "../../src/api/role.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseSharedSecret } from "../../src/api/shared-secret.ts";
import { isSame, mergePatch } from "../../src/domain/plan/merge-patch.ts";
import { accessOf } from "../../src/domain/shared-secret/access-rules.ts";
import { derivedRoles } from "../../src/domain/shared-secret/derived-role.ts";
import { copiedSource, copyOfText } from "../../src/domain/sync/copy.ts";
import { fitsAny, syncOptionsOf } from "../../src/domain/sync/sync-options.ts";
import { isPermitted, isNotPermitted } from "../../src/domain/sync/obstacles.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { createListWatch } from "../../src/kube/informer/list-watch.ts";
import { splitLines } from "../../src/kube/informer/watch-stream.ts";
import { accessKeyCacheEntry, generateKey, presentedKey } from "../../src/tokens/access-key.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";
import { observedSource } from "../support/observed-copies.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import { weighted } from "../support/weighted.ts";
import { hostileWord, spoiled } from "./hostile.ts";
import { expectNoPollution, type Target } from "./target.ts";

const name = weighted([3, fc.constantFrom("web", "pay", "team-a", "db")], [1, hostileWord]);
const list = fc
  .array(fc.oneof(name, fc.constantFrom("web-*", "*", "p*y*", "a,b")), { maxLength: 80 })
  .map((entries) => entries.join(","));
const metadata = {
  name: "a",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const object = fc
  .record(
    {
      data: fc.dictionary(name, fc.string()),
      owner: fc.record({ user: name, team: name }, { requiredKeys: [] }),
      access: fc.array(
        fc.record({
          name,
          verbs: fc.array(fc.constantFrom("get", "*", "create"), { maxLength: 2 }),
          users: fc.array(name, { maxLength: 3 }),
          subresources: fc.array(name, { maxLength: 1 }),
        }),
        { maxLength: 3 },
      ),
      scope: anyScope,
      groups: fc.array(name, { maxLength: 3 }),
      key: name,
    },
    { requiredKeys: [] },
  )
  .map((spec) => ({
    metadata: { ...metadata, labels: {}, annotations: {} },
    spec,
    status: {
      conditions: [
        { type: "Ready", status: "True", reason: "a", message: "b", lastTransitionTime: "c" },
      ],
    },
    rules: [{ verbs: ["get"] }],
    subjects: [{ kind: "User" }],
  }));

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A second implementation of globs. */
function matches(text: string, glob: string): boolean {
  return new RegExp(
    `^${glob
      .split("*")
      .map((part) => part.replaceAll(/[\\^$.|?+()[\]{}/-]/g, String.raw`\$&`))
      .join("[^]*")}$`,
  ).test(text);
}

function cut(bytes: Buffer, places: readonly number[]): readonly Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort(
    (one, other) => one - other,
  );
  return [0, ...ends].map((begin, index) => bytes.subarray(begin, ends[index] ?? bytes.length));
}

const watchEvent = spoiled(fc.constant({ type: "ADDED", object: { metadata } })).map((event) =>
  Buffer.from(`${JSON.stringify(event)}\n`),
);
const watchPart = weighted<Buffer[]>(
  [3, watchEvent],
  [1, fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))],
  [1, fc.constant(Buffer.from('{"type":"ERROR","object":{"code":410}}\n'))],
);
const watchText = fc.array(watchPart, { maxLength: 5 }).map((parts) => Buffer.concat(parts));

/** Values of annotations, keys, watch streams and whole objects. */
export const textTargets: readonly Target[] = [
  {
    name: "copy-of: a Secret claims only the source in its annotation, and only if the annotation was made for this Secret",
    property: () =>
      fc.property(
        fc.record({ namespace: name, name }),
        fc.record({ namespace: name, name }),
        hostileWord,
        (source, target, other) => {
          for (const text of [
            copyOfText(source, target),
            other,
            `${copyOfText(source, target)}${other}`,
          ]) {
            const claimed = copiedSource(
              observedMetadata({ ...target, annotations: { [annotations.copyOf]: text } }),
            );
            if (claimed !== undefined) assert.equal(copyOfText(claimed, target), text);
          }
        },
      ),
  },
  {
    name: "sync annotations: globs match like the equivalent regular expression, and an invalid list matches no project",
    property: () =>
      fc.property(list, name, name, (projects, project, from) => {
        const options = syncOptionsOf({
          metadata: observedMetadata({
            annotations: {
              [annotations.syncToProjects]: projects,
              [annotations.syncSecretName]: from,
            },
          }),
          data: {},
        });
        if (options.projectsAreUnreadable === true)
          assert.deepEqual([options.projects, options.problem?.reason], [[], "InvalidSyncOption"]);
        assert.equal(
          fitsAny(project, options.projects),
          options.projects.some((glob) => matches(project, glob)),
        );
        const namespace = observedMetadata({
          name: "pay",
          labels: { "management.service/project": project },
          annotations: { [annotations.sync]: "enabled", [annotations.syncFrom]: from },
        });
        assert.ok(
          !isPermitted(observedSource({ options }), namespace) ||
            !isNotPermitted(observedSource({ options }), namespace),
        );
      }),
  },
  {
    name: "keys: a presented key matches only the value stored for it, and a bound digest only in an object of its user",
    property: () =>
      fc.property(
        fc.oneof(
          hostileWord,
          fc.stringMatching(/^[A-Za-z0-9._~+/=-]{16,80}$/),
          fc.stringMatching(/^sha256:([0-9a-f]{16}\.)?[0-9a-f]{64}$/),
          fc.constant(null).map(() => SecretText.reveal(generateKey())),
        ),
        name,
        name,
        hostileWord,
        (text, user, boundTo, other) => {
          const presented = presentedKey(new SecretText(text));
          if (text.startsWith("sha256:")) assert.equal(presented, undefined);
          const stored = (key: string) => accessKeyCacheEntry({ metadata, spec: { user, key } });
          const [digest, bound] = [sha256(text), sha256(`${text}\nuser:${boundTo}`)];
          if (presented === undefined) return;
          assert.ok(presented.matches(stored(text)));
          assert.ok(!presented.matches(stored(`sha256:${digest}`)));
          assert.equal(
            presented.matches(stored(`sha256:${digest.slice(0, 16)}.${bound}`)),
            user !== "" && user === boundTo,
          );
          assert.equal(presented.matches(stored(other)), other === text);
        },
      ),
  },
  {
    name: "watch lines: any bytes, split at any position, give the same lines",
    property: () =>
      fc.asyncProperty(watchText, fc.array(fc.nat(), { maxLength: 6 }), async (bytes, places) => {
        const lines: string[] = [];
        for await (const batch of splitLines(cut(bytes, places))) lines.push(...batch);
        const end = bytes.lastIndexOf(0x0a);
        assert.equal(lines.join("\n"), end === -1 ? "" : bytes.toString("utf8", 0, end));
      }),
  },
  {
    name: "watch events: any bytes are parsed as events, or fail with a KubeError",
    property: () =>
      fc.asyncProperty(watchText, fc.array(fc.nat(), { maxLength: 6 }), async (bytes, places) => {
        const transport = {
          request: () => Promise.reject(new Error("not asked")),
          stream: async () => ({ status: 200 as const, chunks: cut(bytes, places) }),
          close: async () => {},
        };
        const watching = createListWatch(transport, new TestClock()).watch(
          { resource: resources.secrets },
          {
            resourceVersion: "1",
            timeoutSeconds: 60,
            openMs: 1_000,
            signal: new AbortController().signal,
            onOpen: () => {},
          },
          () => {},
        );
        await watching.catch((error: unknown) => assert.ok(error instanceof KubeError));
        expectNoPollution();
      }),
  },
  {
    name: "objects: any JSON is parsed, or fails with a TypeError that names the field, and grants stay within their limits",
    property: () =>
      fc.property(spoiled(object), (raw) => {
        for (const parse of [
          parseOwnedAccessKey,
          parseEndpointToken,
          parseRole,
          parseRoleBinding,
          parseSharedSecret,
        ]) {
          try {
            parse(raw);
          } catch (error) {
            assert.ok(error instanceof TypeError);
            assert.match(String(error), /metadata\.\w+ is missing$/);
            return;
          }
        }
        parseGroupDiscovery(raw);
        const secret = parseSharedSecret(raw);
        const { grants } = accessOf(secret, { user: "", team: "" });
        assert.deepEqual(
          grants
            .flatMap(({ subjects }) => subjects)
            .filter(
              ({ kind, name: subject }) =>
                kind !== "ServiceAccount" &&
                subject.startsWith("system:") &&
                subject !== "system:authenticated",
            ),
          [],
        );
        derivedRoles(secret.metadata, grants);
        expectNoPollution();
      }),
  },
  {
    name: "merge patches: a patch is empty exactly if nothing changes",
    property: () =>
      fc.property(
        fc.dictionary(name, fc.jsonValue({ maxDepth: 2 })),
        fc.dictionary(name, fc.jsonValue({ maxDepth: 2 })),
        (from, to) => {
          const patch = mergePatch(from, to);
          assert.equal(patch === undefined, isSame(from, to));
          expectNoPollution();
        },
      ),
  },
];
