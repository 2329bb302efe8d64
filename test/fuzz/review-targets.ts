import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { parseAccessReview } from "../../src/api/access-review.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { withRequesterAnnotations } from "../../src/domain/requester/requester-annotations.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { connectorKeySecret, parseConnectorKey } from "../../src/tokens/connector-data.ts";
import { accessReviewHandler } from "../../src/webhooks/access-review.ts";
import { admissionHandler, type AdmissionStep, admitted } from "../../src/webhooks/admission.ts";
import { extractConnectorData } from "../../src/webhooks/connector-data.ts";
import {
  enforceAttenuation,
  defaultKey,
  rejectDuplicateKey,
} from "../../src/webhooks/key-admission.ts";
import { checkBlockOwnerDeletion } from "../../src/webhooks/owner-admission.ts";
import { enforceScope } from "../../src/webhooks/scope-admission.ts";
import { tokenReviewHandler } from "../../src/webhooks/token-review.ts";
import { base64Data } from "../../src/webhooks/webhook-routes.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";
import { secondOpinion } from "../domain/scope/second-opinion.ts";
import { roles } from "../domain/scope/verdict-of.ts";
import {
  posted,
  fakeAdmissionContext,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";
import { weighted } from "../support/weighted.ts";
import { bodyOf, hostileWord, spoiled } from "./hostile.ts";
import { expectNoPollution, type Target } from "./target.ts";

const { uid } = resolvedKeyWith().key.metadata;
const keyId = { "management.service/key-id": [uid] };
const known = "lk-known-0123456789";
const clock = {
  now: () => 0,
  monotonic: () => 0,
  wakeAfter: (_ms: number, wake: () => void) => (queueMicrotask(wake), () => {}),
};
const usualWord = fc.constantFrom(
  ...["get", "list", "create", "pods", "secrets", "nodes", "namespaces", "apps", "web-1"],
  ...["kube-system", ""],
);
const word = weighted([4, usualWord], [1, hostileWord]);

const accessReview = fc
  .record(
    { verb: word, group: word, resource: word, subresource: word, name: word, namespace: word },
    { requiredKeys: [] },
  )
  .map((resourceAttributes) => ({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "alice", extra: keyId, resourceAttributes },
  }));

const tokenReview = fc.oneof(word, fc.constant(known)).map((token) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token },
}));

const metadata = fc.record(
  {
    name: word,
    uid: word,
    annotations: fc.dictionary(
      fc.oneof(
        hostileWord,
        fc.constantFrom(
          "management.service/requester",
          "management.service/connector-data",
          "kubectl.kubernetes.io/last-applied-configuration",
        ),
      ),
      fc.oneof(
        word,
        fc.jsonValue().map((value) => JSON.stringify(value)),
      ),
    ),
    ownerReferences: fc.array(
      fc.record({
        apiVersion: word,
        kind: word,
        name: word,
        uid: word,
        blockOwnerDeletion: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);
const spec = fc.record(
  {
    user: word,
    key: word,
    ttl: fc.integer(),
    groups: fc.array(word, { maxLength: 2 }),
    scope: anyScope,
    data: fc.dictionary(word, word),
    identity: fc.record({ connectorData: word }),
  },
  { requiredKeys: [] },
);
const object = fc.record({
  apiVersion: fc.constant("management.service/v1"),
  kind: fc.constant("OwnedAccessKey"),
  metadata,
  spec,
});
const admissionReview = fc
  .record({
    uid: fc.constant("review"),
    operation: fc.constantFrom("CREATE", "UPDATE"),
    userInfo: fc.record({
      username: word,
      groups: fc.array(word, { maxLength: 2 }),
      extra: fc.oneof(fc.constant({}), fc.constant(keyId)),
    }),
    object,
    oldObject: fc.option(object),
  })
  .map((request) => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }));

/** The status of a response with 200; undefined if the body is rejected. */
function answered(response: {
  readonly status: number;
  readonly body: string;
}): Readonly<Record<string, unknown>> | undefined {
  expectNoPollution();
  if (response.status === 400) return undefined;
  assert.equal(response.status, 200);
  return recordAt({ answer: JSON.parse(response.body) }, "answer");
}

const unavailable = async (): Promise<never> => {
  throw new KubeError("GET: 500", { code: "ServerError", status: 500 });
};
const marks = parseConnectorKey(JSON.parse(encodeBody(connectorKeySecret("latchkey-system"))));
const unavailableClient = {
  get: unavailable,
  create: unavailable,
  review: async () => ({ status: { allowed: false } }),
};
const nothing = {
  kindOf: async (apiVersion: string) =>
    apiVersion === "" ? undefined : { group: "", plural: "configmaps", namespaced: true },
};

/** Access keys whose only key may do something in the project `web` alone. */
const keyOfWeb = () =>
  fakeReviewDeps({
    view: resolvedKeyWith({ scope: parseScopeLimit({ projects: [{ project: "web" }] }) }),
  }).accessKeys;

interface FuzzedAdmission {
  readonly steps: readonly AdmissionStep[];
  readonly context?: Parameters<typeof fakeAdmissionContext>[0];
}

const admissions: Readonly<Record<string, () => FuzzedAdmission>> = {
  keys: () => ({
    steps: [rejectDuplicateKey, enforceAttenuation, defaultKey],
    context: { accessKeys: keyOfWeb() },
  }),
  stamp: () => ({
    steps: [
      (request) => admitted({ object: withRequesterAnnotations(request, "latchkey-system") }),
    ],
  }),
  connectorData: () => ({
    steps: [extractConnectorData()],
    context: { connectorKey: { current: () => marks } },
  }),
  data: () => ({ steps: [base64Data] }),
  scope: () => ({ steps: [enforceScope], context: { accessKeys: keyOfWeb() } }),
  owners: () => ({
    steps: [checkBlockOwnerDeletion],
    context: {
      discovery: { ...nothing, known: () => undefined },
      accessKeys: fakeReviewDeps({ view: resolvedKeyWith() }).accessKeys,
    },
  }),
};

/** Requests to the webhook from kube-apiserver, or from a client that impersonates it. */
export const reviewTargets: readonly Target[] = [
  {
    name: "SubjectAccessReview: every request that the independent implementation denies is denied, and no request is allowed",
    property: () =>
      fc.asyncProperty(
        fc.oneof(anyScope, spoiled(anyScope)),
        bodyOf(spoiled(accessReview)),
        async (scope, body) => {
          const deps = fakeReviewDeps({ view: resolvedKeyWith({ scope: parseScopeLimit(scope) }) });
          const status = recordAt(
            answered(
              await accessReviewHandler({
                ...deps,
                accessKeys: { ...deps.accessKeys, roles: () => roles },
              })(posted(body), anonymousClient),
            ),
            "status",
          );
          assert.notEqual(status["allowed"], true);
          const review = parseAccessReview(readable(body));
          if (
            review === undefined ||
            status["denied"] === true ||
            review.extra["management.service/key-id"] === undefined
          )
            return;
          if (parseScopeLimit(scope) === "unreadable")
            throw new Error("a scope that cannot be read let something through");
          const { request } = review;
          const { locationOf } = deps.accessKeys;
          if (request.kind === "path") {
            assert.ok(secondOpinion(scope, { ...request, ...locationOf("") }));
            return;
          }
          const isSecret = request.group === "" && request.resource === "secrets";
          // What is in no namespace has none, whatever the review says.
          const isNamespace = request.group === "" && request.resource === "namespaces";
          const namespace = isSecret ? request.namespace : isNamespace ? request.name : "";
          const resourceScope = isSecret ? "Namespaced" : "Cluster";
          const asked = { ...request, ...locationOf(namespace), namespace, resourceScope } as const;
          assert.ok(secondOpinion(scope, asked));
        },
      ),
  },
  {
    name: "TokenReview: only the key itself authenticates",
    property: () =>
      fc.asyncProperty(bodyOf(spoiled(tokenReview)), async (body) => {
        const deps = fakeReviewDeps({ view: resolvedKeyWith() });
        const present = (token: SecretText) =>
          createHash("sha256").update(SecretText.reveal(token)).digest("hex") ===
          createHash("sha256").update(known).digest("hex")
            ? resolvedKeyWith()
            : "unknown";
        const status = recordAt(
          answered(
            await tokenReviewHandler({
              ...deps,
              clock,
              accessKeys: { ...deps.accessKeys, lookup: present },
            })(posted(body), anonymousClient),
          ),
          "status",
        );
        if (status["authenticated"] === true)
          assert.equal(stringAt(recordAt(readable(body), "spec"), "token"), known);
      }),
  },
  ...Object.entries(admissions).map(([name, made]): Target => ({
    name: `AdmissionReview of ${name}: the response has the uid of the review, and its patch is JSON`,
    property: () =>
      fc.asyncProperty(bodyOf(spoiled(admissionReview)), async (body) => {
        const { steps, context } = made();
        const handler = admissionHandler(
          { steps, onResult: () => {} },
          fakeAdmissionContext({ clock, client: unavailableClient, ...context }),
        );
        const response = recordAt(
          answered(await handler(posted(body), anonymousClient)),
          "response",
        );
        if (Object.keys(response).length === 0) return;
        assert.equal(response["uid"], stringAt(recordAt(readable(body), "request"), "uid"));
        const patch = stringAt(response, "patch");
        if (patch !== undefined)
          assert.notEqual(
            listAt(
              { operations: JSON.parse(Buffer.from(patch, "base64").toString("utf8")) },
              "operations",
            ).length,
            0,
          );
      }),
  })),
];

function readable(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
