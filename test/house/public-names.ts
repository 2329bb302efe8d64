import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadAll } from "js-yaml";
import { monitoringValues } from "../../release/chart/monitoring.ts";
import { boundRoles } from "../../release/chart/shared-values.ts";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { parseEndpointToken } from "../../src/api/endpoint-token.ts";
import {
  annotations,
  apiVersion,
  cleanupFinalizer,
  extras,
  labels,
  ownObjects,
  revokedTokensName,
  tokenExtras,
} from "../../src/api/names.ts";
import { isRecord, listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import {
  type ClusterFigures,
  type ReportCause,
  type ReportItem,
  type ReportObject,
  reportReasons,
  reportStatesOf,
  syncStates,
} from "../../src/api/report.ts";
import { argumentsUsage, type CommandOptions } from "../../src/cli/command.ts";
import { optionUsage } from "../../src/cli/help.ts";
import { commands } from "../../src/client/commands.ts";
import { connectionOptions } from "../../src/client/connection/connection-options.ts";
import { exitCodes, runExitCodes } from "../../src/client/failure.ts";
import { serverCommands, usageExitCode } from "../../src/cli/server-program.ts";
import { tokenClaims } from "../../src/domain/endpoint-token/token-claims.ts";
import { directKeys } from "../../src/domain/gateway/direct-address.ts";
import { directRoutes, gatewayRoutes } from "../../src/domain/gateway/request-target.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { flagOf, type OptionTable, variableOf } from "../../src/runtime/options.ts";
import { alertRules } from "../support/alert-rules.ts";
import { fieldsOf, plurals, schemaOf, versionOf } from "../support/crd-schema.ts";

const repository = join(import.meta.dirname, "..", "..");

/** The committed list, relative to the repository. */
export const publicNamesFile = "docs/public-names.txt";

/** Names that no table of src has; a test finds each of them in src. */
export const untabledNames: Readonly<Record<string, readonly string[]>> = {
  path: [
    ...["/healthz", "/readyz", "/metrics"],
    ...["/.well-known/openid-configuration", "/openid/v1/jwks", "/openid/v1/revoked"],
    "/openid/v1/roles",
  ],
  variable: [...["LATCHKEY_ACCESS_KEY", "LATCHKEY_SERVER", "LATCHKEY_CERTIFICATE_AUTHORITY_DATA"]],
  verb: ["assign", "share"],
};

/** Every public name, sorted: what it names, then the name. */
export async function publicNames(): Promise<readonly string[]> {
  const names = [
    ...(await kindNames()),
    ...Object.keys(conditionTypes).map((type) => `condition ${type}`),
    ...Object.keys(reasons).map((reason) => `reason ${reason}`),
    ...Object.values(labels).map((key) => `label ${key}`),
    ...Object.values(annotations).map((key) => `annotation ${key}`),
    `finalizer ${cleanupFinalizer}`,
    ...Object.values({ ...extras, ...tokenExtras }).map((key) => `extra ${key}`),
    ...claimNames(),
    ...Object.entries(metricTable).map(
      ([name, { labels: named }]) => `metric ${name}{${named.join(",")}}`,
    ),
    ...alertRules().map(({ alert }) => `alert ${alert}`),
    ...programNames(),
    ...clientNames(),
    ...reportNames(),
    ...pathNames(),
    ...Object.values(directKeys).map((key) => `data-key ${key}`),
    ...configNames(),
    ...chartNames(),
    ...Object.entries(untabledNames).flatMap(([kind, list]) =>
      list.map((name) => `${kind} ${name}`),
    ),
  ];
  return [...new Set(names)].toSorted();
}

async function kindNames(): Promise<readonly string[]> {
  const found = await Promise.all(
    plurals.map(async (plural) => {
      const [crd] = manifestsIn(`crds/${plural}.yaml`);
      const names = recordAt(recordAt(crd, "spec"), "names");
      const kind = stringAt(names, "kind") ?? "";
      const all = [plural, ...stringsAt(names, "shortNames")].join(", ");
      const selectable = listAt(await versionOf(plural), "selectableFields");
      return [
        `kind ${apiVersion} ${kind} (${all})`,
        ...fieldsOf(await schemaOf(plural)).map(({ path }) => `field ${kind} ${path}`),
        ...selectable.map((entry) => `selectable-field ${kind} ${stringAt(entry, "jsonPath")}`),
      ];
    }),
  );
  return found.flat();
}

function claimNames(): readonly string[] {
  const token = parseEndpointToken({
    metadata: {
      name: "t",
      uid: "u",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { scope: {} },
  });
  const requester = { name: "alice", uid: "", groups: [], keyId: "k" };
  const terms = { issuer: "", audience: "", now: 0, endsAt: 0, keyScopes: [] };
  return Object.entries(tokenClaims(token, requester, terms)).flatMap(([name, value]) => [
    `claim ${name}`,
    ...(isRecord(value) ? Object.keys(value).map((inner) => `claim ${name} ${inner}`) : []),
  ]);
}

function programNames(): readonly string[] {
  const codes = [0, 1, usageExitCode].map((code) => `exit-code latchkey ${code}`);
  const found = Object.values(serverCommands).flatMap(({ name, options }) => {
    const table: OptionTable = options;
    return [
      `command latchkey ${name}`,
      ...Object.entries(table).map(([field, option]) => {
        const flag = `--${flagOf(field)} ${option.value}`.trim();
        const initial = option.value === "" || option.initial === "" ? "" : ` (${option.initial})`;
        return `option latchkey ${name} ${flag} [${variableOf(field, option)}]${initial}`;
      }),
    ];
  });
  return [...codes, ...found];
}

function clientNames(): readonly string[] {
  const program = "kubectl latchkey";
  const optionsOf = (owner: string, flags: CommandOptions): readonly string[] =>
    Object.entries(flags).map(([name, flag]) => `option ${owner} ${optionUsage(name, flag)}`);
  return [
    ...[...Object.values(exitCodes).map(({ code }) => code), ...Object.values(runExitCodes)].map(
      (code) => `exit-code ${program} ${code}`,
    ),
    ...optionsOf(program, connectionOptions),
    ...Object.values(commands).flatMap((command) => [
      `command ${program} ${command.name} ${argumentsUsage(command)}`.trimEnd(),
      ...optionsOf(`${program} ${command.name}`, command.options),
    ]),
  ];
}

/** The fields of a report; the compiler finds one that is missing. */
const reportFields = {
  item: {
    object: true,
    source: true,
    state: true,
    reason: true,
    message: true,
    causes: true,
    target: true,
    targets: true,
    displayName: true,
    cluster: true,
  },
  cluster: {
    projects: true,
    heartbeatAge: true,
    offered: true,
    synced: true,
    withdrawals: true,
    unseenAge: true,
    credentialEnd: true,
  },
  cause: { object: true, field: true, value: true, reason: true, message: true },
  object: { kind: true, namespace: true, name: true },
} as const satisfies {
  readonly item: Readonly<Record<keyof ReportItem, true>>;
  readonly cluster: Readonly<Record<keyof ClusterFigures, true>>;
  readonly cause: Readonly<Record<keyof ReportCause, true>>;
  readonly object: Readonly<Record<keyof ReportObject, true>>;
};

function reportNames(): readonly string[] {
  const { item, cluster, cause, object } = reportFields;
  return [
    ...Object.keys(item).map((field) => `report-field items[].${field}`),
    ...syncStates.map((state) => `report-field items[].targets.${state}`),
    ...Object.keys(cluster).map((field) => `report-field items[].cluster.${field}`),
    ...Object.keys(cause).map((field) => `report-field items[].causes[].${field}`),
    ...Object.keys(object).map((field) => `report-field items[].object.${field}`),
    ...Object.entries(reportStatesOf).flatMap(([command, states]) =>
      states.map((state) => `report-state ${command} ${state}`),
    ),
    ...Object.keys(reportReasons).map((reason) => `report-reason ${reason}`),
  ];
}

function pathNames(): readonly string[] {
  const routes = [...gatewayRoutes, ...directRoutes({ kind: "cluster", cluster: "" })].map(
    ({ pattern }) =>
      pattern.source
        .replaceAll("\\/", "/")
        .replaceAll(/\(\[a-z0-9\].*?\)\?\)/g, "<name>")
        .replace(/^\^/, "")
        .replace(/\(\?=.*$/, "/"),
  );
  return [...routes, ...Object.values(webhookPaths)].map((path) => `path ${path}`);
}

/** Directories that users apply, and the objects in them and in Latchkey's namespace. */
function configNames(): readonly string[] {
  const files = execFileSync("git", ["ls-files", "-z", "config"], {
    cwd: repository,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path.endsWith(".yaml"));
  const isKustomization = (path: string): boolean => path.endsWith("/kustomization.yaml");
  const examples =
    /^config\/(?:samples|tenants|argocd|gateway-ingress|kind|audit)\/|\/rules\.yaml$/;
  const applied = files.filter((path) => !isKustomization(path) && !examples.test(path));
  const own = Object.entries(ownObjects).map(([field, name]) => `${kindsOfOwn(field)} ${name}`);
  const generated = files
    .filter(isKustomization)
    .flatMap(manifestsIn)
    .flatMap((kustomization) => listAt(kustomization, "configMapGenerator"))
    .map((generator) => `ConfigMap ${stringAt(generator, "name")}`);
  const objects = [...applied.flatMap(manifestsIn).map(objectName), ...generated, ...own];
  return [
    ...files.filter(isKustomization).map((path) => `directory ${dirname(path)}`),
    ...objects.map((name) => `object ${name}`),
    `object ConfigMap ${revokedTokensName(0).replace(/0$/, "<n>")}`,
  ];
}

/**
 * Values of the charts and their defaults, from the page that the generator of the charts prints, and
 * the objects that only values create.
 */
function chartNames(): readonly string[] {
  const objects = [
    ...monitoringValues.flatMap(({ holes = {} }) => Object.keys(holes)),
    ...Object.values(boundRoles).map((role) => `ClusterRoleBinding ${role}`),
  ];
  const page = readFileSync(join(repository, "docs/chart-values.md"), "utf8");
  const values = page.split(/^## Chart /m).flatMap((section) => {
    const chart = section.split("\n", 1)[0] ?? "";
    return [...section.matchAll(/^\| (`.*?`) +\| (.*?) +\|/gm)].flatMap(
      ([, names = "", cell = ""]) => {
        const initial = cell === "" ? "" : ` (${cell.replaceAll("`", "")})`;
        return names
          .split(", ")
          .map((name) => `value ${chart} ${name.replaceAll("`", "")}${initial}`);
      },
    );
  });
  return [...objects.map((name) => `object ${name}`), ...values];
}

function kindsOfOwn(field: string): string {
  if (field === "lease") return "Lease";
  return ["clusterList", "issuers"].includes(field) ? "ConfigMap" : "Secret";
}

function objectName(manifest: unknown): string {
  return `${stringAt(manifest, "kind")} ${stringAt(recordAt(manifest, "metadata"), "name")}`;
}

function manifestsIn(path: string): readonly unknown[] {
  return loadAll(readFileSync(join(repository, path), "utf8")).filter(isRecord);
}

/** `npm run public-names` writes the list. */
if (process.argv[1] === import.meta.filename)
  writeFileSync(
    join(repository, publicNamesFile),
    (await publicNames()).map((name) => `${name}\n`).join(""),
  );
