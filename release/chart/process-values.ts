import { listAt, numberAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { flagOf, type OptionTable } from "../../src/runtime/options.ts";
import type { Hole, Manifest, Path } from "./template.ts";
import type { Schema, Value } from "./value.ts";

/** A process of Latchkey in a chart: one Deployment, and what belongs to it. */
export interface Process {
  /** Its name in values.yaml. */
  readonly key: string;
  /** The name of its Deployment, of its ServiceAccount and of its PodDisruptionBudget. */
  readonly name: string;
  readonly options: OptionTable;
  /** The option with the address at which it serves over TLS. */
  readonly address: string;
  /** Who connects to that address. */
  readonly clients: string;
}

const text: Schema = { type: "string" };
const map: Schema = { type: "object", additionalProperties: text };
const list: Schema = { type: "array", items: { type: "object" } };
const port: Schema = { type: "integer", minimum: 1, maximum: 65535 };
const count: Schema = { type: "integer", minimum: 0 };
const numberOrPercentage: Schema = {
  anyOf: [count, { type: "string", pattern: "^[0-9]+%$" }],
};

/** Options that the chart sets itself: by other values, by names that are fixed, or not at all. */
const ownOptions = [
  ...["kubeconfig", "namespace", "identity", "direct", "service-name", "http-address"],
  ...["certificate-directory", "admission-path"],
];

/** The values of a process; the defaults are those of its Deployment. */
export function processValues(process: Process, deployment: Manifest): readonly Value[] {
  const { key, name } = process;
  const pod = recordAt(recordAt(recordAt(deployment, "spec"), "template"), "spec");
  const [container] = listAt(pod, "containers");
  const of = valueOf({ key, deployment: `Deployment ${name}` });
  const heap = variableOf(container, "NODE_OPTIONS");
  const budget = `PodDisruptionBudget ${name}`;
  const budgetPath = `.Values.${key}.podDisruptionBudget`;
  return [
    of.hole("replicas", {
      path: ["spec", "replicas"],
      text: `{{ .Values.${key}.replicas }}`,
      initial: recordAt(deployment, "spec")["replicas"],
      schema: count,
      help: "Number of pods",
    }),
    of.hole("options", {
      path: [...inContainer, "args", "+"],
      text: `{{- include "latchkey.options" .Values.${key}.options | trim | nindent @ }}`,
      when: `.Values.${key}.options`,
      initial: {},
      schema: optionsSchema(process),
      help: "Options by their names without dashes, such as `log-level: debug`",
    }),
    of.hole("extraEnv", {
      path: [...inContainer, "env", "+"],
      text: `{{- toYaml .Values.${key}.extraEnv | nindent @ }}`,
      when: `.Values.${key}.extraEnv`,
      initial: [],
      schema: list,
      help: "More environment variables, as in a container",
    }),
    of.hole("resources", {
      path: [...inContainer, "resources"],
      text: `{{- toYaml .Values.${key}.resources | nindent @ }}`,
      initial: recordAt(container, "resources"),
      schema: { type: "object" },
      help: "Requests and limits; set `heapMegabytes` with the memory limit",
    }),
    of.hole("heapMegabytes", {
      path: [...inContainer, "env", "NODE_OPTIONS", "value"],
      text: heap.replace(/=\d+/, `={{ .Values.${key}.heapMegabytes }}`),
      initial: Number(/--max-old-space-size=(\d+)/.exec(heap)?.[1]),
      schema: { type: "integer", minimum: 64 },
      help: "Maximum size of the heap in MiB; leave at least 100 of the memory limit to other memory",
    }),
    listening(
      process,
      "port",
      portOf(container, (found) => found !== "http"),
      {
        flag: process.address,
        help: `Port at which the container serves ${process.clients}; the port of the Service stays 443`,
      },
    ),
    listening(
      process,
      "httpPort",
      portOf(container, (found) => found === "http"),
      {
        flag: "http-address",
        help: "Port at which the container serves metrics and health",
      },
    ),
    of.hole("hostNetwork", {
      path: [...inPod, "+"],
      text: "hostNetwork: true\ndnsPolicy: ClusterFirstWithHostNet",
      when: `.Values.${key}.hostNetwork`,
      initial: false,
      schema: { type: "boolean" },
      help: "Run in the network of the node; give `port` and `httpPort` numbers that are free there, and label the namespace `pod-security.kubernetes.io/enforce: privileged`",
    }),
    of.optional("nodeSelector", [...inPod, "nodeSelector"], {
      initial: {},
      schema: map,
      help: "Labels of the nodes that pods may run on",
    }),
    of.optional("tolerations", [...inPod, "tolerations"], {
      initial: [],
      schema: list,
      help: "Taints of nodes that pods tolerate",
    }),
    of.optional("affinity", [...inPod, "affinity"], {
      initial: {},
      schema: { type: "object" },
      help: "Affinity of pods",
    }),
    of.optional("topologySpreadConstraints", [...inPod, "topologySpreadConstraints"], {
      initial: pod["topologySpreadConstraints"],
      schema: list,
      help: "How pods spread over nodes and zones",
    }),
    of.hole("priorityClassName", {
      path: [...inPod, "priorityClassName"],
      text: `{{ .Values.${key}.priorityClassName | quote }}`,
      when: `.Values.${key}.priorityClassName`,
      initial: "",
      schema: text,
      help: "PriorityClass of pods, such as `system-cluster-critical`",
    }),
    of.optional("podAnnotations", ["spec", "template", "metadata", "annotations"], {
      initial: {},
      schema: map,
      help: "Annotations of pods",
    }),
    of.hole("podLabels", {
      path: ["spec", "template", "metadata", "labels", "+"],
      text: `{{- toYaml .Values.${key}.podLabels | nindent @ }}`,
      when: `.Values.${key}.podLabels`,
      initial: {},
      schema: map,
      help: "More labels of pods",
    }),
    {
      name: `${key}.serviceAccount.annotations`,
      initial: {},
      schema: map,
      help: "Annotations of the ServiceAccount",
      holes: {
        [`ServiceAccount ${name}`]: [
          blockHole(["metadata", "annotations"], `.Values.${key}.serviceAccount.annotations`),
        ],
      },
    },
    {
      name: `${key}.podDisruptionBudget.enabled`,
      initial: true,
      schema: { type: "boolean" },
      help: "Whether a PodDisruptionBudget limits how many pods are evicted at a time",
    },
    {
      name: `${key}.podDisruptionBudget.maxUnavailable`,
      initial: 1,
      schema: numberOrPercentage,
      help: "How many pods may be evicted at a time: a number or a percentage",
      holes: {
        [budget]: [
          { path: ["spec", "maxUnavailable"], text: `{{ ${budgetPath}.maxUnavailable }}` },
        ],
      },
    },
  ];
}

const inPod: Path = ["spec", "template", "spec"];
const inContainer: Path = [...inPod, "containers", 0];

interface Described {
  readonly initial: unknown;
  readonly schema: Schema;
  readonly help: string;
}

/** A place that is present only if the value is not empty. */
function blockHole(path: Path, expression: string): Hole {
  return { path, text: `{{- toYaml ${expression} | nindent @ }}`, when: expression };
}

/** Values that decide one place of a Deployment. */
function valueOf({ key, deployment }: { readonly key: string; readonly deployment: string }) {
  const hole = (name: string, { initial, schema, help, ...place }: Described & Hole): Value => ({
    ...{ name: `${key}.${name}`, initial, schema, help },
    holes: { [deployment]: [place] },
  });
  return {
    hole,
    optional: (name: string, path: Path, described: Described): Value =>
      hole(name, { ...described, ...blockHole(path, `.Values.${key}.${name}`) }),
  };
}

interface Port {
  readonly name: string;
  readonly number: number;
}

/** A port: of the container, and of the option that it needs if it is not the default. */
function listening(
  { key, name }: Process,
  field: string,
  found: Port,
  { flag, help }: { readonly flag: string; readonly help: string },
): Value {
  const expression = `.Values.${key}.${field}`;
  return {
    name: `${key}.${field}`,
    initial: found.number,
    schema: port,
    help,
    holes: {
      [`Deployment ${name}`]: [
        {
          path: [...inContainer, "ports", found.name, "containerPort"],
          text: `{{ ${expression} }}`,
        },
        {
          path: [...inContainer, "args", "+"],
          text: `- --${flag}=0.0.0.0:{{ ${expression} }}`,
          when: `ne (int ${expression}) ${found.number}`,
        },
      ],
    },
  };
}

/** The container port of a name, or the one beside it. */
function portOf(container: unknown, isWanted: (name: string) => boolean): Port {
  const found = listAt(container, "ports").map((item) => ({
    name: stringAt(item, "name") ?? "",
    number: numberAt(item, "containerPort") ?? 0,
  }));
  const [port, ...others] = found.filter(({ name }) => isWanted(name));
  if (port === undefined || others.length > 0)
    throw new Error('a container must have the port "http" and one more');
  return port;
}

function variableOf(container: unknown, name: string): string {
  const found = listAt(container, "env").find((item) => stringAt(item, "name") === name);
  return stringAt(found, "value") ?? "";
}

function optionsSchema({ options, address }: Process): Schema {
  const offered = Object.entries(options).filter(
    ([name]) => ![...ownOptions, address].includes(flagOf(name)),
  );
  const properties = offered.map(([name, { help, value }]) => [
    flagOf(name),
    value === ""
      ? { description: help, type: "boolean" }
      : { description: help, type: ["string", "integer", "boolean"] },
  ]);
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}
