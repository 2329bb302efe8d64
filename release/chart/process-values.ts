import { listAt, numberAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { flagOf, type OptionTable } from "../../src/runtime/options.ts";
import { labelsText, moreLabels } from "./labels.ts";
import type { Manifest, Path } from "./template.ts";
import type { Schema, Value } from "./value.ts";

/** A process of Latchkey in a chart: one Deployment, and what belongs to it. */
export interface Process {
  /** Its name in values.yaml. */
  readonly key: string;
  /** The name of its Deployment, of its ServiceAccount and of its PodDisruptionBudget. */
  readonly name: string;
  readonly options: OptionTable;
  /** Where it serves over TLS; undefined for a process to which only Prometheus connects. */
  readonly server?: {
    /** The option with the address. */
    readonly address: string;
    /** Who connects to it. */
    readonly clients: string;
    /** The Service at which clients outside of the cluster reach it. */
    readonly service?: string;
  };
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
  ...["certificate-directory", "admission-path", "central-kubeconfig"],
];

/** The values of a process; the defaults are those of its Deployment. */
export function processValues(process: Process, deployment: Manifest): readonly Value[] {
  const spec = recordAt(deployment, "spec");
  const pod = recordAt(recordAt(spec, "template"), "spec");
  const [container] = listAt(pod, "containers");
  const replicas: Place = {
    field: "replicas",
    at: ["spec", "replicas"],
    text: scalar,
    initial: spec["replicas"],
    schema: count,
    help: "Number of pods",
  };
  const places = [
    replicas,
    ...rolloutPlaces,
    ...containerPlaces(process, container),
    ...volumePlaces,
    ...podPlaces(pod),
  ];
  return [
    ...places.map((place) => valueOf(process.key, `Deployment ${process.name}`, place)),
    ...(process.server === undefined ? [] : [servedPort(process, process.server, container)]),
    listening(
      process,
      portOf(container, (name) => name === "http"),
      {
        field: "httpPort",
        flag: "http-address",
        help: "Port at which the container serves metrics and health",
      },
    ),
    ...valuesOfOthers(process),
    ...servicePlaces.flatMap((place) =>
      process.server?.service === undefined
        ? []
        : [valueOf(process.key, `Service ${process.server.service}`, place)],
    ),
  ];
}

const inPod: Path = ["spec", "template", "spec"];
const inContainer: Path = [...inPod, "containers", 0];
const scalar = "{{ VALUE }}";
const block = "{{- toYaml VALUE | nindent @ }}";

/** A place of an object, and the value of a process that decides it. */
interface Place extends Omit<Value, "name" | "holes"> {
  readonly field: string;
  readonly at: Path;
  /** The template; without one, a block that is there only if the value is not empty. */
  readonly text?: string;
  readonly when?: string;
}

function valueOf(key: string, object: string, place: Place): Value {
  const { field, at, text: given, when, initial, schema, help } = place;
  const condition = given === undefined ? "VALUE" : when;
  const hole = { path: at, text: given ?? block, ...(condition && { when: condition }) };
  return { name: `${key}.${field}`, initial, schema, help, holes: { [object]: [hole] } };
}

const rolloutPlaces: readonly Place[] = [
  {
    field: "strategy",
    at: ["spec", "strategy"],
    initial: {},
    schema: { type: "object" },
    help: "How pods are replaced, such as `{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}`; if empty, what Kubernetes does",
  },
  {
    field: "revisionHistoryLimit",
    at: ["spec", "revisionHistoryLimit"],
    text: scalar,
    when: "ne (int VALUE) 10",
    initial: 10,
    schema: count,
    help: "Number of former ReplicaSets that stay",
  },
];

const volumePlaces: readonly Place[] = [
  {
    field: "extraVolumes",
    at: [...inPod, "volumes", "+"],
    initial: [],
    schema: list,
    help: "More volumes, as in a pod",
  },
  {
    field: "extraVolumeMounts",
    at: [...inContainer, "volumeMounts", "+"],
    initial: [],
    schema: list,
    help: "Where the container mounts them, as in a container",
  },
];

const servicePlaces: readonly Place[] = [
  {
    field: "service.type",
    at: ["spec", "type"],
    text: scalar,
    when: "VALUE",
    initial: "",
    schema: { enum: ["", "ClusterIP", "NodePort", "LoadBalancer"] },
    help: "Type of the Service for clients outside of the cluster; if empty, ClusterIP",
  },
  {
    field: "service.loadBalancerClass",
    at: ["spec", "loadBalancerClass"],
    text: "{{ VALUE | quote }}",
    when: "VALUE",
    initial: "",
    schema: text,
    help: "Class of its load balancer, with the type LoadBalancer, such as `service.k8s.aws/nlb`",
  },
  {
    field: "service.annotations",
    at: ["metadata", "annotations"],
    initial: {},
    schema: map,
    help: "Annotations of the Service, such as those of its load balancer",
  },
  {
    field: "service.ipFamilyPolicy",
    at: ["spec", "ipFamilyPolicy"],
    text: scalar,
    when: "VALUE",
    initial: "",
    schema: { enum: ["", "SingleStack", "PreferDualStack", "RequireDualStack"] },
    help: "Whether the Service has addresses of both families; if empty, one of the family of the cluster",
  },
  {
    field: "service.ipFamilies",
    at: ["spec", "ipFamilies"],
    initial: [],
    schema: { type: "array", maxItems: 2, items: { enum: ["IPv4", "IPv6"] } },
    help: "Families of its addresses, the first one first; if empty, what Kubernetes chooses",
  },
];

function containerPlaces(process: Process, container: unknown): readonly Place[] {
  const variable = listAt(container, "env").find(
    (found) => stringAt(found, "name") === "NODE_OPTIONS",
  );
  const flags = stringAt(variable, "value") ?? "";
  return [
    {
      field: "options",
      at: [...inContainer, "args", "+"],
      text: '{{- include "latchkey.options" VALUE | trim | nindent @ }}',
      when: "VALUE",
      initial: {},
      schema: optionsSchema(process),
      help: "Options by their names without dashes, such as `log-level: debug`",
    },
    {
      field: "extraEnv",
      at: [...inContainer, "env", "+"],
      initial: [],
      schema: list,
      help: "More environment variables, as in a container",
    },
    {
      field: "resources",
      at: [...inContainer, "resources"],
      text: block,
      initial: recordAt(container, "resources"),
      schema: { type: "object" },
      help: "Requests and limits; set `heapMegabytes` with the memory limit",
    },
    {
      field: "heapMegabytes",
      at: [...inContainer, "env", "NODE_OPTIONS", "value"],
      text: flags.replace(/=\d+/, `=${scalar}`),
      initial: Number(/--max-old-space-size=(\d+)/.exec(flags)?.[1]),
      schema: { type: "integer", minimum: 64 },
      help: "Maximum size of the heap in MiB; leave at least 100 of the memory limit to other memory",
    },
  ];
}

function podPlaces(pod: Manifest): readonly Place[] {
  const spread = "topologySpreadConstraints";
  const metadata: Path = ["spec", "template", "metadata"];
  return [
    {
      field: "hostNetwork",
      at: [...inPod, "+"],
      text: "hostNetwork: true\ndnsPolicy: ClusterFirstWithHostNet",
      when: "VALUE",
      initial: false,
      schema: { type: "boolean" },
      help: "Run in the network of the node; give `port` and `httpPort` numbers that are free there, and label the namespace `pod-security.kubernetes.io/enforce: privileged`",
    },
    {
      field: "nodeSelector",
      at: [...inPod, "nodeSelector"],
      initial: {},
      schema: map,
      help: "Labels of the nodes that pods may run on",
    },
    {
      field: "tolerations",
      at: [...inPod, "tolerations"],
      initial: [],
      schema: list,
      help: "Taints of nodes that pods tolerate",
    },
    {
      field: "affinity",
      at: [...inPod, "affinity"],
      initial: {},
      schema: { type: "object" },
      help: "Affinity of pods",
    },
    {
      field: spread,
      at: [...inPod, spread],
      initial: pod[spread],
      schema: list,
      help: "How pods spread over nodes and zones",
    },
    {
      field: "priorityClassName",
      at: [...inPod, "priorityClassName"],
      text: "{{ VALUE | quote }}",
      when: "VALUE",
      initial: "",
      schema: text,
      help: "PriorityClass of pods, such as `system-cluster-critical`",
    },
    {
      field: "podAnnotations",
      at: [...metadata, "annotations"],
      initial: {},
      schema: map,
      help: "Annotations of pods",
    },
    {
      field: "podLabels",
      at: [...metadata, "labels", "+"],
      text: labelsText,
      initial: {},
      schema: moreLabels,
      help: "More labels of pods",
    },
  ];
}

function valuesOfOthers({ key, name }: Process): readonly Value[] {
  return [
    valueOf(key, `ServiceAccount ${name}`, {
      field: "serviceAccount.annotations",
      at: ["metadata", "annotations"],
      initial: {},
      schema: map,
      help: "Annotations of the ServiceAccount",
    }),
    {
      name: `${key}.podDisruptionBudget.enabled`,
      initial: true,
      schema: { type: "boolean" },
      help: "Whether a PodDisruptionBudget limits how many pods are evicted at a time",
    },
    valueOf(key, `PodDisruptionBudget ${name}`, {
      field: "podDisruptionBudget.maxUnavailable",
      at: ["spec", "maxUnavailable"],
      text: scalar,
      initial: 1,
      schema: numberOrPercentage,
      help: "How many pods may be evicted at a time: a number or a percentage",
    }),
  ];
}

interface Port {
  readonly name: string;
  readonly number: number;
}

/** A port: of the container, and of the option that it needs if it is not the default. */
function listening(
  { key, name }: Process,
  found: Port,
  { field, flag, help }: { readonly field: string; readonly flag: string; readonly help: string },
): Value {
  const holes = [
    { path: [...inContainer, "ports", found.name, "containerPort"], text: scalar },
    {
      path: [...inContainer, "args", "+"],
      text: `- --${flag}=:${scalar}`,
      when: `ne (int VALUE) ${found.number}`,
    },
  ];
  return {
    name: `${key}.${field}`,
    initial: found.number,
    schema: port,
    help,
    holes: { [`Deployment ${name}`]: holes },
  };
}

/** The port of the clients of a process. */
function servedPort(
  process: Process,
  { address, clients }: NonNullable<Process["server"]>,
  container: unknown,
): Value {
  const found = portOf(container, (name) => name !== "http");
  return listening(process, found, {
    field: "port",
    flag: address,
    help: `Port at which the container serves ${clients}; the port of the Service stays 443`,
  });
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

function optionsSchema({ options, server }: Process): Schema {
  const offered = Object.entries(options).filter(
    ([name]) => ![...ownOptions, server?.address].includes(flagOf(name)),
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
