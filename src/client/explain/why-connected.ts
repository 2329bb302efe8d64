import { keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { reportObject } from "../../domain/report-object.ts";
import { placeItems } from "../../domain/sync/explain-place.ts";
import type { Target } from "../../domain/sync/obstacles.ts";
import { readAgentCopies } from "../cluster/agent-copies.ts";
import type { Flags } from "../cli.ts";
import { Failure } from "../failure.ts";
import { rightText } from "../missing-right.ts";
import { type AskedKind, askedKinds } from "./asked-kinds.ts";
import { agentCopyItem, connectedItems } from "./connected-items.ts";
import type { Checked } from "./lease-item.ts";
import { readPlace } from "./why-place.ts";
import type { WhyReport } from "./why-text.ts";

/** What `why` is asked about in a connected cluster. */
interface ConnectedQuestion {
  readonly kind: AskedKind;
  readonly name: string;
  readonly flags: Flags<"why">;
}

/**
 * Answers where no SharedSecrets are served: from the Secrets and namespaces of a connected
 * cluster, and from what its agent says of itself. Two of the three consents are in the central
 * cluster, so the answer names where to ask about them.
 */
export async function whyConnected(
  { kind, name, flags }: ConnectedQuestion,
  checked: Checked,
): Promise<WhyReport> {
  const { namespace } = checked.cluster.choice;
  if (kind === "secret") return whyCopy({ namespace, name }, flags, checked);
  if (kind === "shsec") return whyCopies({ namespace, name }, checked);
  throw new Failure(
    `this cluster serves no ${askedKinds[kind].resource.kind}s; ${askThere}`,
    "notFound",
  );
}

const askThere = "if it is a connected cluster, ask in the central one";

async function whyCopy(
  target: Target,
  { requireSyncFrom, copyKeys }: ConnectedQuestion["flags"],
  checked: Checked,
): Promise<WhyReport> {
  const options = { requireSyncFrom, copyKeys, isConnected: true };
  const place = await readPlace(checked.cluster, target, options);
  const found = [...placeItems(place.found), ...(await problemsHere(checked))];
  const object = reportObject(resources.secrets.kind, target);
  return { object, found, missing: place.missing };
}

/** Answers about a SharedSecret of the central cluster from its copies here. */
async function whyCopies(source: Target, checked: Checked): Promise<WhyReport> {
  const copies = await readAgentCopies(checked.cluster, undefined);
  const own = copies.found.filter((copy) => keyOf(copy.source) === keyOf(source));
  const object = reportObject(resources.sharedSecrets.kind, source);
  if (own.length > 0)
    return {
      object,
      found: [...own.map(agentCopyItem), ...(await problemsHere(checked))],
      missing: copies.missing,
    };
  const [right] = copies.missing;
  const seen = right === undefined ? "" : `that you may see (you may not ${rightText(right)}) `;
  throw new Failure(
    `this cluster serves no SharedSecrets, and no copy of SharedSecret "${keyOf(source)}" ` +
      `${seen}is here; ${askThere}: ` +
      `kubectl latchkey why shsec/${source.name} -n ${source.namespace}`,
    "notFound",
  );
}

/** What keeps the agent of this cluster from its work. */
async function problemsHere(checked: Checked) {
  const found = await connectedItems(checked, false);
  return found.filter(({ state, object }) => state === "problem" && object.name !== undefined);
}
