import { afterAll, beforeAll, expect, it } from "vitest";
import { requesters } from "../support/actions.ts";
import { annotations } from "../../src/api/names.ts";
import { parseConditions } from "../../src/api/parse.ts";
import { type AgentFixture, type Place, secretPath } from "../support/agent-fixture.ts";
import { type Answer, get, mergePatch, remove } from "../support/cluster-connection.ts";
import { mintToken, startEndpoint, tokenPath } from "../support/direct-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { makeDevsAdmin } from "../support/latchkey-objects.ts";
import type { ControllerProcess } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { shareWithEast } from "../support/shared-with-east.ts";

/** The tests of SharedSecrets of a central cluster, with its own controller. */
export function describeCentral(given: () => AgentFixture): void {
  let fixture: AgentFixture;
  let controller: ControllerProcess;

  let issuer: string;

  beforeAll(async () => {
    fixture = given();
    const address = `127.0.0.1:${await freePort()}`;
    issuer = `https://${address}`;
    controller = await fixture.central.run({ address, args: [`--issuer=${issuer}`] });
    await controller.waitReady();
  });
  afterAll(() => controller?.stop());

  const becomesCopied = (place: Place, data: Readonly<Record<string, string>>): Promise<Answer> =>
    fixture.arrives(place, data);
  const becomesGone = (place: Place): Promise<void> => fixture.goes(place);

  const becomesSynced = async (path: string): Promise<void> => {
    const isSynced = async () =>
      parseConditions((await fixture.central.arrange(get(path))).status).some(
        ({ type, status }) => type === "ClustersSynced" && status === "True",
      );
    await eventually(isSynced, { what: "ClustersSynced", within: 60_000 });
  };

  it("has a copy there, and says so", async () => {
    const { path } = await shareWithEast(fixture);
    await becomesSynced(path);
  });

  it("changes its copy there", async () => {
    const { place, change } = await shareWithEast(fixture);
    await change("changed");
    await becomesCopied(place, { password: "changed" });
  });

  it("has no copy there any more when it names the cluster no more", async () => {
    const { place, withdraw, becomesForgotten } = await shareWithEast(fixture);
    await withdraw();
    await becomesGone(place);
    // The tombstone goes once the agent has reported that nothing is left.
    await becomesForgotten();
  });

  it("says that a finalizer there keeps its copy, which has no data any more", async () => {
    const { path, place, withdraw, becomesForgotten } = await shareWithEast(fixture);
    const finalizers = (names: readonly string[]) =>
      fixture.east.arrange(mergePatch(secretPath(place), { metadata: { finalizers: names } }));
    await finalizers(["example.com/keep"]);
    await withdraw();
    const said = async () =>
      parseConditions((await fixture.central.arrange(get(path))).status).find(
        ({ type, reason }) => type === "ClustersSynced" && reason === "RemovalBlocked",
      )?.message;
    const message = await eventually(said, { what: "RemovalBlocked", within: 60_000 });
    expect(message).toContain(`cluster "east": ${place.namespace}/${place.name}: `);
    expect(message).toContain('"example.com/keep"');
    await becomesCopied(place, {});
    await finalizers([]);
    await becomesGone(place);
    await becomesForgotten();
  });

  it("is deleted once its copy is gone there", async () => {
    const { path, place } = await shareWithEast(fixture);
    // The agent may have a copy before the centre has the answer to its own write.
    await becomesSynced(path);
    await fixture.central.arrange(remove(path));
    const isGone = async () => (await fixture.central.ask({}, get(path))).code === 404;
    await eventually(isGone, { what: "the end of the SharedSecret", within: 60_000 });
    expect((await fixture.secret(place.namespace, place.name)).code).toBe(404);
  });

  it("keeps its copy there when its entry is deleted, and gets the entry back", async () => {
    const { place, entry } = await shareWithEast(fixture);
    const { metadata } = await fixture.secret(place.namespace, place.name);
    await fixture.central.arrange(remove(entry));
    const isBack = async () => (await fixture.central.ask({}, get(entry))).code === 200;
    await eventually(isBack, { what: "the entry to be there again", within: 60_000 });
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata["uid"]).toBe(metadata["uid"]);
  });

  it("has copies that outlive a restored outbox: unknown ones are withdrawn by the centre", async () => {
    const { place, entry, withdraw } = await shareWithEast(fixture);
    const { agent, central } = fixture;
    // While the agent is stopped, the source goes, and so does its tombstone.
    agent.kill("SIGSTOP");
    await withdraw();
    const isWithdrawn = async () => {
      const found = await central.ask({}, get(entry));
      return found.metadata?.annotations?.[annotations.withdrawn] !== undefined;
    };
    await eventually(isWithdrawn, { what: "the tombstone", within: 60_000 });
    await central.arrange(remove(entry));
    agent.kill("SIGCONT");
    await becomesGone(place);
  });

  // The tables of requests and streams are in test/journeys/direct-endpoint.test.ts.
  it("is reached by direct tokens, as their user, while their objects exist", async () => {
    const { central, east } = fixture;
    await allowRequesters(central);
    await east.arrange(makeDevsAdmin);
    const ca = await issuerCa(central.controlPlane);
    const trusted = { program: central.program, issuer, ca };
    const direct = await startEndpoint(east.controlPlane, trusted);
    try {
      const token = await mintToken(central, "reaches");
      const secrets = "/api/v1/secrets";
      expect(await direct.statusOf(token, secrets)).toBe(200);
      expect(await direct.statusOf(`${token}x`, secrets)).toBe(401);
      const dave = { user: "dave", groups: [requesters] };
      const narrow = await mintToken(central, "reaches-less", { by: dave });
      expect(await direct.statusOf(narrow, secrets)).toBe(403);
      await central.arrange(remove(tokenPath("reaches")));
      const isRefused = async () => (await direct.statusOf(token, secrets)) === 401;
      await eventually(isRefused, { what: "the end of the token", within: 60_000 });
    } finally {
      await direct.stop();
    }
  });
}
