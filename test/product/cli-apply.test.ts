import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dump } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { becomes } from "../support/becomes.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { objectOf } from "../support/crd-requests.ts";
import { allowRequesters, type OwnKind, pathOf } from "../support/keys-and-tokens.ts";
import { type KubectlResult, tryKubectl } from "../support/kubectl.ts";
import { api, as, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";

const requesters = unique("appliers");
/** A user with the ClusterRole latchkey-requester, and with the grants of the controller. */
const alice = { user: unique("alice"), groups: [requesters, "system:authenticated"] };
const asAlice = [`--as=${alice.user}`, ...alice.groups.map((name) => `--as-group=${name}`)];

type Spec = Readonly<Record<string, unknown>>;

/** Runs `kubectl apply` or `kubectl create` with a manifest as alice. */
function kubectlOf(kind: OwnKind, name: string, args: readonly string[]) {
  return (spec: Spec): Promise<KubectlResult> =>
    tryKubectl(inject("controlPlane"), [...args, "--filename=-", ...asAlice], {
      input: dump(objectOf(kind, name, spec)),
    });
}

const newKey = (): Spec => ({
  user: alice.user,
  key: boundDigest(randomBytes(32).toString("hex"), `user:${alice.user}`),
  ttl: 3600,
});

const kinds = [
  {
    kind: "OwnedAccessKey",
    plural: "ownedaccesskeys",
    page: "owned-access-key.md",
    command: ["keys", "create"],
    newSpec: newKey,
  },
  {
    kind: "DirectClusterEndpointToken",
    plural: "directclusterendpointtokens",
    page: "direct-cluster-endpoint-token.md",
    command: ["token", "create"],
    newSpec: (): Spec => ({ ttl: 600 }),
  },
] as const;

const refused = (says: string) => ({ code: 1, stderr: expect.stringContaining(says) });

/** Creates an object with kubectl, and waits until alice is granted it; returns its name. */
async function created(kind: OwnKind, spec: Spec): Promise<string> {
  const name = unique("created");
  expect(await kubectlOf(kind, name, ["create"])(spec)).toMatchObject({ code: 0 });
  const read = () => as(alice).get(pathOf(kind, name));
  await becomes(`${name} to be granted to its requester`, read, { code: 200 });
  return name;
}

describe.skipIf(inject("cli") === undefined)("what a requester types", () => {
  beforeAll(() => allowRequesters(requesters));

  describe.each(kinds)("for a new $kind", ({ kind, plural, page, command, newSpec }) => {
    it.each([
      ["kubectl apply", ["apply"], `cannot get resource "${plural}"`],
      [
        "kubectl apply --server-side",
        ["apply", "--server-side"],
        `cannot patch resource "${plural}"`,
      ],
    ])("is not %s, whose refusal the page has", async (_what, args, says) => {
      const name = unique("applied");
      expect(await kubectlOf(kind, name, args)(newSpec())).toMatchObject(refused(says));
      expect(await api.find(pathOf(kind, name))).toMatchObject({ code: 404 });
      const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");
      expect(text).toContain(says);
    });

    it("is kubectl create", async () => {
      const name = await created(kind, newSpec());
      expect(await api.get(pathOf(kind, name))).toMatchObject({ metadata: { name } });
    });

    it(`is kubectl latchkey ${command.join(" ")}`, async () => {
      const name = unique("made");
      expect(await runCli([...command, name, "--ttl=10m", ...asAlice])).toMatchObject({ code: 0 });
      expect((await api.get(pathOf(kind, name))).spec).toMatchObject({ ttl: 600 });
    });
  });

  it("for an own key is kubectl apply --server-side, which restricts and never enables it", async () => {
    const spec = newKey();
    const name = await created("OwnedAccessKey", spec);
    const apply = kubectlOf("OwnedAccessKey", name, ["apply", "--server-side"]);
    const force = kubectlOf("OwnedAccessKey", name, [
      "apply",
      "--server-side",
      "--force-conflicts",
    ]);
    const stored = async () => (await api.get(pathOf("OwnedAccessKey", name))).spec;
    expect(await apply(spec)).toMatchObject({ code: 0 });
    expect(await apply({ ...spec, ttl: 600 })).toMatchObject(refused('with "kubectl-create"'));
    expect(await force({ ...spec, ttl: 600 })).toMatchObject({ code: 0 });
    expect(await apply({ ...spec, ttl: 300, disabled: true })).toMatchObject({ code: 0 });
    expect(await stored()).toMatchObject({ ttl: 300, disabled: true });
    expect(await apply({ ...spec, ttl: 300 })).toMatchObject(
      refused("may not change spec.disabled"),
    );
    expect(await apply({ ...spec, ttl: 600, disabled: true })).toMatchObject(
      refused("may not change spec.ttl"),
    );
    expect(await stored()).toMatchObject({ ttl: 300, disabled: true });
  });

  it("for an own key is also kubectl apply", async () => {
    const spec = newKey();
    const name = await created("OwnedAccessKey", spec);
    const apply = kubectlOf("OwnedAccessKey", name, ["apply"]);
    expect(await apply(spec)).toMatchObject({ code: 0 });
    expect(await apply({ ...spec, ttl: 600 })).toMatchObject({ code: 0 });
    expect((await api.get(pathOf("OwnedAccessKey", name))).spec).toMatchObject({ ttl: 600 });
    expect(await apply(spec)).toMatchObject(refused("may not change spec.ttl"));
  });

  it.each([[["apply"]], [["apply", "--server-side"]]])(
    "for an own direct token is not kubectl %j: it never changes",
    async (args) => {
      const kind = "DirectClusterEndpointToken";
      const name = await created(kind, { ttl: 600 });
      expect(await kubectlOf(kind, name, args)({ ttl: 600 })).toMatchObject(
        refused('cannot patch resource "directclusterendpointtokens"'),
      );
    },
  );
});
