import { type BareClient, concurrency } from "./bare-client.ts";
import { copyLikeBody, metadataOf, ownPath, parsed, secretPath, tokenRequest } from "./objects.ts";
import type { FanOutWidth } from "./sizes.ts";
import type { Stage } from "./stage.ts";

/** Rates of the bare client without any controller beside it. */
export interface Ceilings {
  /** Creates and replaces of Secrets a second, by how many there were. */
  readonly secrets: Readonly<Record<FanOutWidth, { readonly create: number; readonly replace: number }>>;
  /** Tokens a second, where each is created and patched twice. */
  readonly tokens: number;
}

const warmUp = 1000;
const perSecond = (count: number, ms: number): number => (count * 1000) / ms;

/** Measures with the connections of Latchkey's account, warmed up; leaves nothing behind. */
export async function measureCeilings(stage: Stage, namespaces: Readonly<Record<FanOutWidth, readonly string[]>>): Promise<Ceilings> {
  const { account, say } = stage;
  await account.pour(warmUp, (index) => ({ method: "GET", path: secretPath(namespaces[1000][index] ?? "") }));
  const secrets = { 200: await secretCeiling(account, namespaces[200], 4), 1000: await secretCeiling(account, namespaces[1000], 2) };
  const tokens = await tokenCeiling(stage);
  const { create, replace } = secrets[1000];
  say(`a bare client of ${concurrency} connections reaches ${create.toFixed(0)} creates, ${replace.toFixed(0)} replaces and ${tokens.toFixed(0)} tokens a second`);
  return { secrets, tokens };
}

/** The mean of what was measured before and after. */
export function meanCeilings(one: Ceilings, other: Ceilings): Ceilings {
  const mean = (of: (ceilings: Ceilings) => number): number => (of(one) + of(other)) / 2;
  const width = (n: FanOutWidth) => ({ create: mean(({ secrets }) => secrets[n].create), replace: mean(({ secrets }) => secrets[n].replace) });
  return { secrets: { 200: width(200), 1000: width(1000) }, tokens: mean(({ tokens }) => tokens) };
}

async function secretCeiling(client: BareClient, namespaces: readonly string[], rounds: number): Promise<{ create: number; replace: number }> {
  const at = (index: number): string => namespaces[index] ?? "";
  const count = namespaces.length;
  const took = { create: 0, replace: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const versions: string[] = [];
    const note = (body: string, index: number): void => void (versions[index] = metadataOf(parsed(body)).resourceVersion);
    took.create += await client.pour(count, (index) => ({ method: "POST", path: secretPath(at(index)), body: copyLikeBody(at(index), { version: 1 }) }), note);
    const body = (index: number): object => copyLikeBody(at(index), { version: 2, resourceVersion: versions[index] ?? "" });
    took.replace += await client.pour(count, (index) => ({ method: "PUT", path: secretPath(at(index), "ceiling"), body: body(index) }));
    await client.pour(count, (index) => ({ method: "DELETE", path: secretPath(at(index), "ceiling") }));
  }
  return { create: perSecond(count * rounds, took.create), replace: perSecond(count * rounds, took.replace) };
}

/** Latchkey writes a finalizer and a status for each token, and grants in batches, which counts as nothing here. */
async function tokenCeiling({ admin, account }: Stage): Promise<number> {
  const count = 500;
  const name = (index: number): string => `ceiling-${index}`;
  const path = (index: number): string => ownPath("directclusterendpointtokens", name(index));
  const took = [
    await admin.pour(count, (index) => tokenRequest(name(index), "ceiling")),
    await account.pour(count, (index) => ({ method: "PATCH", path: path(index), body: { metadata: { annotations: { ceiling: "x" } } } })),
    await account.pour(count, (index) => ({ method: "PATCH", path: `${path(index)}/status`, body: { status: { keyID: "x", token: "x".repeat(600) } } })),
  ];
  await admin.pour(count, (index) => ({ method: "DELETE", path: path(index) }));
  return perSecond(count, took.reduce((sum, ms) => sum + ms, 0));
}
