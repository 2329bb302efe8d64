import { Agent, fetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import {
  connectedName,
  type DirectFixture,
  mintToken,
  startDirectFixture,
  startEndpoint,
  type TrustedIssuer,
  type WantedToken,
} from "../support/direct-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { trustTokens } from "../support/trust.ts";

/** A way into a connected cluster: its kube-apiserver, or a direct endpoint. */
type Way = (token: string) => Promise<number>;

const otherName = "west";
const ownOnly = ["--own-audience-only"];
const east = { clusters: [{ cluster: connectedName }] };

describe.skipIf(!hasDedicatedClusters)("two connected clusters", () => {
  let fixture: DirectFixture;
  let west: StartedControlPlane;
  let issuer: TrustedIssuer;
  const tokens = new Map<string, string>();
  const stops: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    fixture = await startDirectFixture(allowRequesters);
    stops.push(() => fixture.stop());
    const { central, controller } = fixture;
    west = await startControlPlane(await findOrBuildControlPlane(() => {}));
    stops.push(() => west.stop());
    const { program, controlPlane } = central;
    issuer = { program, issuer: controller.issuerUrl, ca: await issuerCa(controlPlane) };
    const wanted: readonly [string, WantedToken][] = [
      ["every cluster", {}],
      ["east", { cluster: connectedName }],
      ["west", { cluster: otherName }],
      ["a virtual cluster", { cluster: "web/east" }],
      ["the scope of east", { spec: { scope: east } }],
    ];
    for (const [name, token] of wanted)
      tokens.set(name, await mintToken(central, name.replaceAll(" ", "-"), token));
  });
  afterAll(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });

  /** Makes kube-apiserver trust direct tokens, and waits until it accepts one that it has to. */
  async function server(cluster: StartedControlPlane, name: string, args: readonly string[] = []) {
    await trustTokens(cluster, {
      management: fixture.central.controlPlane,
      issuer: issuer.issuer,
      name,
      args,
    });
    const dispatcher = new Agent({ connect: { ca: cluster.certificateAuthority } });
    stops.push(() => dispatcher.destroy());
    const way: Way = async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${cluster.url}/version`, { dispatcher, headers });
      await response.text();
      return response.status;
    };
    const own = tokens.get(name) ?? "";
    await eventually(async () => (await way(own)) === 200, {
      what: `kube-apiserver of ${name} to trust the issuer`,
    });
    return way;
  }

  /** Starts a direct endpoint beside those of the same cluster. */
  async function endpoint(
    cluster: StartedControlPlane,
    name: string,
    args: readonly string[] = [],
  ): Promise<Way> {
    const started = await startEndpoint(cluster, { ...issuer, name, args });
    stops.push(() => started.stop());
    return (token) => started.statusOf(token);
  }

  /** The statuses of a token at both clusters: first those of kube-apiserver. */
  const statuses = async (ways: readonly Way[], name: string) =>
    Promise.all(ways.map((way) => way(tokens.get(name) ?? "")));

  it("accept a token for one of them only there, and a token for every cluster at both", async () => {
    const ways = [
      await server(fixture.connected, connectedName),
      fixture.statusOf,
      await server(west, otherName),
      await endpoint(west, otherName),
    ];
    expect(await statuses(ways, "every cluster")).toEqual([200, 200, 200, 200]);
    expect(await statuses(ways, "east")).toEqual([200, 200, 401, 401]);
    expect(await statuses(ways, "west")).toEqual([401, 401, 200, 200]);
    expect(await statuses(ways, "a virtual cluster")).toEqual([401, 401, 401, 401]);
    // Without the authorizer, kube-apiserver refuses every token with a scope.
    expect(await statuses(ways, "the scope of east")).toEqual([401, 200, 401, 401]);
  });

  it("with --own-audience-only accept no token for every cluster", async () => {
    const ways = [
      await server(fixture.connected, connectedName, ownOnly),
      await endpoint(fixture.connected, connectedName, ownOnly),
      await server(west, otherName, ownOnly),
      await endpoint(west, otherName, ownOnly),
    ];
    expect(await statuses(ways, "every cluster")).toEqual([401, 401, 401, 401]);
    expect(await statuses(ways, "east")).toEqual([200, 200, 401, 401]);
    expect(await statuses(ways, "west")).toEqual([401, 401, 200, 200]);
  });

  it("are virtual clusters, too, which a token names with their project", async () => {
    const virtual = await endpoint(west, "web/east", ownOnly);
    expect(await virtual(tokens.get("a virtual cluster") ?? "")).toBe(200);
    for (const name of ["every cluster", "east", "west"])
      expect(await virtual(tokens.get(name) ?? "")).toBe(401);
  });
});
