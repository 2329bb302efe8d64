import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { listAt, parseMetadata, recordAt, stringAt } from "../../src/api/parse.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  type AgentFixture,
  agentUser,
  centralLeasePath,
  makeOutbox,
  secretPath,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { get, mergePatch, remove } from "../support/cluster-connection.ts";
import { hasDedicatedClusters, startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { etcdBackup } from "./etcd-backup.ts";
import { eventually } from "../support/eventually.ts";
import { writeKubeconfig, writePrivately } from "../support/kubeconfig.ts";
import { applyClusterAgentRbac } from "../support/install.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import { type LatchkeyProcess, startClusterAgent } from "../support/latchkey-process.ts";
import { base64 } from "../support/shared-secret-requests.ts";
import { type SharedWithEast, shareWithEast } from "../support/shared-with-east.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const targets = 40;
const lease = ["--lease-duration=5s", "--renew-deadline=3s", "--retry-period=1s"];
const leasePath =
  "/apis/coordination.k8s.io/v1/namespaces/latchkey-system/leases/latchkey-cluster-agent";
/** The time without a word of the central cluster after which an agent says so is 60 s. */
const silence = { within: 150_000, every: 500 };

describe.skipIf(!hasDedicatedClusters)("two replicas of an agent", () => {
  let fixture: AgentFixture;
  let proxy: TcpProxy;
  let agents: readonly LatchkeyProcess[];
  let kubeconfig: string;

  beforeAll(async () => {
    fixture = await startAgentFixture();
    const { central, east } = fixture;
    await fixture.agent.stop();
    const controller = await central.run({ restart: "at-once" });
    await controller.waitReady();
    proxy = await startTcpProxy(Number(new URL(central.controlPlane.url).port));
    kubeconfig = join(east.controlPlane.directory, "proxied-kubeconfig");
    login(central.controlPlane.tokens[agentUser] ?? "");
    const args = [`--central-kubeconfig=${kubeconfig}`, ...lease];
    agents = [await fixture.startAgent(args, "a"), await fixture.startAgent(args, "b")];
    await Promise.all(agents.map((agent) => agent.waitReady()));
  });
  afterAll(async () => {
    await fixture?.stop();
    await proxy?.stop();
  });

  function login(token: string): void {
    const { certificateAuthority } = fixture.central.controlPlane;
    const place = { url: `https://127.0.0.1:${proxy.port}`, certificateAuthority };
    writeKubeconfig(kubeconfig, place, { [agentUser]: { token } });
  }

  async function leader(): Promise<LatchkeyProcess> {
    const { spec } = await fixture.east.arrange(get(leasePath));
    const holder = stringAt(spec, "holderIdentity");
    const found = agents.find(({ identity }) => identity === holder);
    if (found === undefined) throw new Error(`${holder} leads`);
    return found;
  }

  const becomesEverywhere = async ({ places }: SharedWithEast, password: string): Promise<void> => {
    for (const place of places) await fixture.arrives(place, { password });
  };

  /** Waits until a fan-out has reached some of its targets. */
  const begun = ({ places }: SharedWithEast, password: string): Promise<unknown> =>
    eventually(
      async () => {
        for (const { namespace, name } of places) {
          const { password: found } = recordAt(await fixture.secret(namespace, name), "data");
          if (found === base64(password)) return true;
        }
        return false;
      },
      { what: "the first copy", every: 5 },
    );

  /** The uid and the version of every copy. */
  async function copies(): Promise<ReadonlyMap<string, string>> {
    const path = `/api/v1/secrets?labelSelector=${encodeURIComponent(labels.outboxUid)}`;
    return new Map(
      listAt(await fixture.east.arrange(get(path)), "items").map((item) => {
        const { namespace = "", name, uid, resourceVersion } = parseMetadata(item);
        return [`${namespace}/${name}`, `${uid} ${resourceVersion}`];
      }),
    );
  }

  const uidOf = async ({ place }: Pick<SharedWithEast, "place">): Promise<unknown> =>
    (await fixture.secret(place.namespace, place.name)).metadata["uid"];

  /** Edits a copy by hand, and waits until it is as it was. */
  async function becomesRepaired({ place }: SharedWithEast, password: string): Promise<void> {
    const data = { password: base64("edited") };
    await fixture.east.arrange(mergePatch(secretPath(place), { data }));
    await fixture.arrives(place, { password });
  }

  it("reach all targets although the leader is killed in the middle of its work", async () => {
    const source = await shareWithEast(fixture, targets);
    for (const password of ["first", "second", "third"]) {
      const leading = await leader();
      await source.change(password);
      await begun(source, password);
      leading.kill("SIGKILL");
      await becomesEverywhere(source, password);
    }
  });

  it("copy what both sides share, follow its changes, and end it when either side withdraws", async () => {
    const { central } = fixture;
    const [one, other] = [await shareWithEast(fixture), await shareWithEast(fixture)];
    for (const source of [one, other]) {
      await source.change("changed");
      await fixture.arrives(source.place, { password: "changed" });
    }
    await one.withdraw();
    await fixture.goes(one.place);
    await one.becomesForgotten();
    expect((await fixture.secret(other.place.namespace, other.place.name)).code).toBe(200);
    const path = secretPath({ namespace: clustersNamespace, name: "east" });
    const letIn = (projects: string | null) =>
      central.arrange(
        mergePatch(path, { metadata: { annotations: { [annotations.projects]: projects } } }),
      );
    await letIn(null);
    await fixture.goes(other.place);
    await letIn("*");
    await fixture.arrives(other.place, { password: "changed" });
  });

  it("do not disturb each other: a leader that goes on after its Lease writes nothing", async () => {
    const source = await shareWithEast(fixture, targets);
    const withdrawn = await shareWithEast(fixture);
    const old = await leader();
    const { starts } = old;
    await source.change("before");
    await begun(source, "before");
    old.kill("SIGSTOP");
    await source.change("meanwhile");
    await withdrawn.withdraw();
    await becomesEverywhere(source, "meanwhile");
    await fixture.goes(withdrawn.place);
    const before = await copies();
    old.kill("SIGCONT");
    await eventually(() => old.starts > starts, { what: "the old leader to exit" });
    await old.waitReady();
    expect(await copies()).toEqual(before);
  });

  it("keep and repair copies while the centre's packets are swallowed, and say so", async () => {
    const [source, withdrawn] = [await shareWithEast(fixture), await shareWithEast(fixture)];
    proxy.swallow();
    await source.change("unheard");
    await withdrawn.withdraw();
    const says = async (): Promise<boolean> =>
      (await (await fetch(`${(await leader()).url}/readyz`)).text()).includes("was not heard for");
    await eventually(says, { ...silence, what: "the agent to say that it hears nothing" });
    await becomesRepaired(source, "canary");
    await becomesRepaired(withdrawn, "canary");
    proxy.heal();
    await fixture.arrives(source.place, { password: "unheard" });
    await fixture.goes(withdrawn.place);
  });

  it("keep and repair copies while their key is revoked, until they have another one", async () => {
    const [source, withdrawn] = [await shareWithEast(fixture), await shareWithEast(fixture)];
    const { directory, interrupt, tokens } = fixture.central.controlPlane;
    const users = join(directory, "users.csv");
    const former = tokens[agentUser] ?? "";
    const replace = (token: string) =>
      interrupt("kube-apiserver", async () =>
        writePrivately(users, readFileSync(users, "utf8").replace(former, token)),
      );
    await replace("of-nobody");
    await source.change("unheard");
    await withdrawn.withdraw();
    const isRefused = async () =>
      /resource="sharedsecrets",code="Unauthorized"} [1-9]/.test(
        await (await fetch(`${(await leader()).url}/metrics`)).text(),
      );
    await eventually(isRefused, { ...silence, what: "the key to be refused" });
    await becomesRepaired(source, "canary");
    await becomesRepaired(withdrawn, "canary");
    login("of-nobody");
    await fixture.arrives(source.place, { password: "unheard" });
    await fixture.goes(withdrawn.place);
  });

  it("keep copies while the namespace of the outbox is gone, and when it is there again", async () => {
    const source = await shareWithEast(fixture);
    const { central } = fixture;
    const [uid, before] = [await uidOf(source), await copies()];
    const path = `/api/v1/namespaces/${outboxNamespace("east")}`;
    await central.arrange(remove(path));
    const isGone = async () => (await central.ask({}, get(path))).code === 404;
    await eventually(isGone, { what: "the end of the namespace" });
    const isMissed = async () =>
      JSON.stringify((await central.arrange(get(source.path))).status).includes("OutboxMissing");
    await eventually(isMissed, { what: "the source to miss the outbox" });
    expect(await copies()).toEqual(before);
    await makeOutbox(central);
    await source.change("again");
    await fixture.arrives(source.place, { password: "again" });
    expect(await uidOf(source)).toBe(uid);
  });

  it("lose nothing to an agent of another cluster with the same key, which says so", async () => {
    const source = await shareWithEast(fixture);
    const holder = async () =>
      stringAt((await fixture.central.arrange(get(centralLeasePath))).spec, "holderIdentity");
    // The outbox may be new.
    const before = await eventually(holder, { what: "the agent to hold the outbox" });
    // Clusters that start from the same data of etcd have the same identity.
    const second = await startDedicatedCluster({ install: "nothing" });
    const { controlPlane } = second;
    await second.arrange(postNamespace("latchkey-system"));
    await applyClusterAgentRbac(controlPlane);
    const args = [`--central-kubeconfig=${kubeconfig}`, "--cluster-name=east"];
    const other = await startClusterAgent({ controlPlane, args });
    const says = async () => (await fetch(`${other.url}/readyz`)).text();
    const what = { what: "the other agent to say that it is one" };
    await eventually(async () => (await says()).includes("another cluster, whose"), what);
    await source.change("again");
    await fixture.arrives(source.place, { password: "again" });
    expect(await holder()).toBe(before);
    await other.stop();
    await second.stop();
  });

  it("bring a restored cluster to what is shared now", async () => {
    const [changed, withdrawn] = [await shareWithEast(fixture), await shareWithEast(fixture)];
    const uid = await uidOf(changed);
    const backup = etcdBackup(fixture.east.controlPlane);
    await backup.save();
    await changed.change("after");
    await fixture.arrives(changed.place, { password: "after" });
    const later = await changed.another();
    await fixture.arrives(later.place, { password: "canary" });
    const lost = await uidOf(later);
    await withdrawn.withdraw();
    await fixture.goes(withdrawn.place);
    await withdrawn.becomesForgotten();
    await backup.restore();
    await fixture.arrives(changed.place, { password: "after" });
    await fixture.arrives(later.place, { password: "canary" });
    // The backup did not have it.
    expect(await uidOf(later)).not.toBe(lost);
    await fixture.goes(withdrawn.place);
    await withdrawn.becomesForgotten();
    expect(await uidOf(changed)).toBe(uid);
  });

  it("follow a restored centre, and lose only what it withdraws", async () => {
    const [kept, changed, withdrawn] = [
      await shareWithEast(fixture),
      await shareWithEast(fixture),
      await shareWithEast(fixture),
    ];
    const uid = await uidOf(kept);
    const backup = etcdBackup(fixture.central.controlPlane);
    await backup.save();
    await changed.change("after");
    await fixture.arrives(changed.place, { password: "after" });
    const later = await shareWithEast(fixture);
    await withdrawn.withdraw();
    await fixture.goes(withdrawn.place);
    await withdrawn.becomesForgotten();
    await backup.restore();
    await fixture.arrives(changed.place, { password: "canary" });
    await fixture.arrives(withdrawn.place, { password: "canary" });
    await fixture.goes(later.place);
    await later.becomesForgotten();
    expect(await uidOf(kept)).toBe(uid);
    await kept.change("at last");
    await fixture.arrives(kept.place, { password: "at last" });
  });
});
