import { setTimeout as pause } from "node:timers/promises";
import { bareClient } from "../support/bare-client.ts";
import type { OwnPlural } from "../support/bench-objects.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { askWebhookAtAdmission, webhookHost } from "../support/trust.ts";
import {
  allInBeforeStage,
  bareStage,
  beforeStage,
  endStages,
  hasBefore,
  installBefore,
  limitPolicies,
  limitWebhooks,
  onlyStage,
  policiesStage,
  type PolicyFile,
  policyFiles,
} from "./admission-stages.ts";
import {
  allInLoad,
  allInStage,
  allowUsers,
  createLoad,
  followingLoad,
  followingWork,
  foreignKinds,
  foreignLoad,
  grantLoad,
  type LoadDeps,
  loadName,
  statusLoad,
} from "./admission-loads.ts";
import { type Bench, withController } from "./bench-fixture.ts";
import { type Costs, costsInTurns, type Load } from "./processor-costs.ts";
import { type Row, row } from "./report.ts";

const plurals = ["ownedaccesskeys", "directclusterendpointtokens"] as const;

/** Milliseconds of kube-apiserver for an object, all in. */
const wantedMs = { ownedaccesskeys: 8, directclusterendpointtokens: 5 } as const;

/** The API server reads policies and bindings once a second. */
const policyChangeMs = 3_000;

/** The stage that all policies and webhooks see, while no controller runs. */
const webhookStage = "webhooks";

/**
 * Processor time of kube-apiserver for each new key and token, for what others write, and of the other
 * processes: without policies, with those of each file, with all, with the webhook, and with the controller. The same
 * without the processes for SharedSecrets that follow a Secret.
 */
export async function admission({ fixture, size: sizes, report }: Bench): Promise<void> {
  const { controlPlane, say, servers } = fixture;
  // Two versions differ by less than the policies of a file.
  const size = hasBefore ? { rounds: 10, count: 2 * sizes.admission.count } : sizes.admission;
  const files = policyFiles();
  await allowUsers(fixture);
  await limitPolicies(fixture, files);
  await installBefore(fixture);
  const users = await Promise.all(
    ["alice", "bob"].map(
      async (name) => [name, await bareClient(kubeconfigFor(controlPlane, name))] as const,
    ),
  );
  const deps = { fixture, users };
  await pause(policyChangeMs);
  say("creating keys and tokens with some of the policies");
  report(rowsOf(await costsInTurns(policyLoads(deps, files), size, servers)));
  if (!hasBefore) {
    say("creating and changing SharedSecrets that follow a Secret");
    report(rowsOf(await costsInTurns(followingLoads(deps), size, servers)));
    say("writing statuses and grants");
    report(rowsOf(await costsInTurns(writeLoads(deps), size, servers)));
  }
  const webhook = await fixture.startWebhook([`--certificate-names=${webhookHost}`]);
  await askWebhookAtAdmission(controlPlane, { webhookUrl: webhook.url });
  await limitWebhooks(fixture);
  await pause(policyChangeMs);
  say("creating keys and tokens with the webhook");
  const asking = { ...servers, webhook: webhook.pid };
  report(rowsOf(await costsInTurns(webhookLoads(deps), size, asking)));
  await withController(fixture, async (running) => {
    await running.readings.settled();
    say("creating keys and tokens while the controller runs");
    const all = { ...asking, controller: running.pid };
    const loads = [
      foreignLoad(deps, "ConfigMap", "while the controller runs"),
      ...plurals.flatMap((plural) =>
        withBefore(allInStage, allInBeforeStage).map((stage) =>
          allInLoad(deps, { plural, running, stage }),
        ),
      ),
    ];
    // A requester may have 1000 keys.
    const most = hasBefore ? { ...size, count: sizes.admission.count / 2 } : size;
    report(rowsOf(await costsInTurns(loads, most, all), loads));
  });
  await endStages(fixture, files);
  await webhook.stop();
  await Promise.all(users.map(([, client]) => client.close()));
}

function policyLoads(deps: LoadDeps, files: readonly PolicyFile[]): readonly Load[] {
  const ofPlural = (plural: OwnPlural): readonly Load[] => {
    const seen = hasBefore ? [] : files.filter(({ sees }) => sees.includes(plural));
    const single = seen.map(({ name }) => onlyStage(name));
    const stages = [bareStage, ...single, ...withBefore(policiesStage, beforeStage)];
    return stages.map((stage) => createLoad(deps, plural, stage));
  };
  const ofForeign = (kind: (typeof foreignKinds)[number]): readonly Load[] =>
    [bareStage, ...withBefore(policiesStage, beforeStage)].map((stage) =>
      foreignLoad(deps, kind, stage),
    );
  return [...foreignKinds.flatMap(ofForeign), ...plurals.flatMap(ofPlural)];
}

/** A stage, and the same with the policies of another version if one is measured. */
function withBefore(stage: string, before: string): readonly string[] {
  return hasBefore ? [stage, before] : [stage];
}

function followingLoads(deps: LoadDeps): readonly Load[] {
  const stages = [bareStage, onlyStage("data-from"), policiesStage];
  return followingWork.flatMap((work) => stages.map((stage) => followingLoad(deps, work, stage)));
}

function writeLoads(deps: LoadDeps): readonly Load[] {
  return [
    ...plurals.flatMap((plural) =>
      [bareStage, policiesStage].map((stage) => statusLoad(deps, plural, stage)),
    ),
    ...[2, 250, 500].map((size) => grantLoad(deps, { size, stage: policiesStage })),
  ];
}

function webhookLoads(deps: LoadDeps): readonly Load[] {
  return [
    foreignLoad(deps, "ConfigMap", "while the webhook runs"),
    ...plurals.flatMap((plural) =>
      [policiesStage, webhookStage].map((stage) => createLoad(deps, plural, stage)),
    ),
  ];
}

/** The rows of some loads: the costs of kube-apiserver, and in the note those of the others. */
function rowsOf(costs: ReadonlyMap<string, Costs>, loads: readonly Load[] = []): readonly Row[] {
  return [...costs].map(([name, costsOf]) => {
    const { "kube-apiserver": measured = Number.NaN, ...others } = costsOf;
    const [plural] = plurals.filter((one) => name === loadName(one, allInStage));
    return row(name, [measured, "ms"], {
      goal: plural && `<= ${wantedMs[plural]} ms`,
      note: [
        ...addedTo(measured, costs.get(bareOf(name))),
        ...Object.entries(others).map(([process, ms]) => `${process} ${ms.toFixed(2)}`),
        ...(loads.find((load) => load.name === name)?.note?.() ?? []),
      ].join(", "),
    });
  });
}

/** The load without policies that a load is compared with. */
function bareOf(name: string): string {
  return `${name.slice(0, name.lastIndexOf(", "))}, ${bareStage}`;
}

function addedTo(measured: number, bare: Costs | undefined): readonly string[] {
  const ms = measured - (bare?.["kube-apiserver"] ?? Number.NaN);
  return Number.isNaN(ms) || ms === 0 ? [] : [`${ms >= 0 ? "+" : ""}${ms.toFixed(2)}`];
}
