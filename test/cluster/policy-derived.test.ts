import { beforeAll, expect, it } from "vitest";
import { connectedPolicies, policyProblem } from "../../src/domain/gateway/connected-policy.ts";
import {
  guardingPolicies,
  policyDifference,
  resourcesOf,
} from "../../src/domain/policies/guarding-policies.ts";
import { answered, api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  collectionOf,
  dryCreate,
  made,
  manifest,
  merge,
  requestedKinds,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

const rootKey = withKey(root, "k-17");
/** Administrators with each of the extras that tell a credential of Latchkey. */
const withCredential = ["key-id", "token-id", "credential-id"].map((name) => ({
  ...root,
  extra: { [`management.service/${name}`]: ["uid-17"] },
}));
const serviceAccountToken = {
  type: "kubernetes.io/service-account-token",
  metadata: { annotations: { "kubernetes.io/service-account.name": "default" } },
};
const bootstrapToken = {
  type: "bootstrap.kubernetes.io/token",
  metadata: {},
  stringData: { "token-id": "abcdef" },
};

withPolicies("a Secret that the API server turns into another credential", () => {
  let secrets: string;
  beforeAll(async () => {
    secrets = `/api/v1/namespaces/${await makeNamespace()}/secrets`;
  });
  const secret = (body: { readonly metadata: object }) => ({
    ...body,
    metadata: { name: unique("derived"), ...body.metadata },
  });

  it.each([serviceAccountToken, bootstrapToken])(
    "of type $type cannot be created with an access key or direct token",
    async (given) => {
      const body = secret(given);
      for (const caller of withCredential)
        expect(await dryCreate(caller, secrets, body)).toMatchObject(
          answered(403, "root authenticated with an access key or direct token and may not create"),
        );
      expect(await dryCreate(root, secrets, body)).toMatchObject({ code: 201 });
    },
  );

  it("cannot be changed with an access key", async () => {
    const path = await made(secrets, secret(bootstrapToken));
    const change = { stringData: { "token-secret": "0123456789abcdef" } };
    expect(await merge(rootKey, path, change)).toMatchObject(
      answered(403, "of type bootstrap.kubernetes.io/token"),
    );
    expect(await merge(root, path, change)).toMatchObject({ code: 200 });
  });

  it("can be created with an access key if it is Opaque", async () => {
    const opaque = secret({ metadata: {} });
    expect(await dryCreate(rootKey, secrets, opaque)).toMatchObject({ code: 201 });
  });
});

withPolicies("a key or token of a direct token", () => {
  const refused = answered(403, "root authenticated with a direct token and may not");
  const ofKey = withCredential.filter(({ extra }) => "management.service/key-id" in extra);
  const ofToken = withCredential.filter((caller) => !ofKey.includes(caller));

  it.each(requestedKinds)("cannot be created: $kind", async ({ plural, kind, spec }) => {
    const path = collectionOf(plural);
    for (const caller of ofToken)
      expect(await dryCreate(caller, path, manifest(kind, {}, spec))).toMatchObject(refused);
    for (const caller of [root, ...ofKey])
      expect((await dryCreate(caller, path, manifest(kind, {}, spec))).message ?? "").not.toContain(
        "direct token and may not",
      );
  });

  it.each(requestedKinds)("cannot be changed: $kind", async ({ plural, kind, spec }) => {
    const path = await made(collectionOf(plural), manifest(kind, {}, spec));
    const change = { metadata: { labels: { changed: "true" } } };
    for (const caller of ofToken) expect(await merge(caller, path, change)).toMatchObject(refused);
    expect(await merge(root, path, change)).toMatchObject({ code: 200 });
  });
});

withPolicies("a policy that Latchkey asks a connected cluster for", () => {
  it.each(Object.values(connectedPolicies))(
    "counts as the API server stores it: $name",
    async (expected) => {
      const group = "/apis/admissionregistration.k8s.io/v1";
      const policy = await api.get(`${group}/validatingadmissionpolicies/${expected.name}`);
      const binding = await api.get(`${group}/validatingadmissionpolicybindings/${expected.name}`);
      expect(policyProblem(expected, { policy, binding }, Infinity)).toBeUndefined();
    },
  );
});

withPolicies("a policy that guards the central cluster", () => {
  it.each(guardingPolicies)(
    "is that of Latchkey as the API server stores it: $name",
    async (policy) => {
      const group = "/apis/admissionregistration.k8s.io/v1";
      const found = await Promise.all(
        resourcesOf(policy).map(({ plural }) => api.find(`${group}/${plural}/${policy.name}`)),
      );
      // Before Kubernetes 1.36, the mutating policies are not served.
      const [own, binding] = found.map((object) => (object.code === 404 ? undefined : object));
      const observed = { policy: own, binding };
      expect(policyDifference(policy, observed, { isCentral: true })).toBeUndefined();
    },
  );
});
