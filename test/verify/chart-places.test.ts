import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentation } from "../../release/registry.ts";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { post } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import {
  applyChart,
  byName,
  type Charts,
  ofEast,
  releaseLabels,
  startCharts,
  withRenderer,
} from "../dedicated/chart-fixture.ts";

const connected = "latchkey-connected";
const names = ["latchkey", connected] as const;
/** Values that install every process, and what people set where they have load balancers. */
const everything = {
  latchkey: {
    controller: {
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
      extraVolumeMounts: [{ name: "ca", mountPath: "/etc/company" }],
    },
    gateway: {
      enabled: true,
      service: {
        type: "LoadBalancer",
        loadBalancerClass: "example.com/internal",
        annotations: { "example.com/scheme": "internal" },
        ipFamilyPolicy: "PreferDualStack",
      },
    },
  },
  [connected]: {
    directEndpoint: { enabled: true, ...ofEast },
    directAuthorizer: { enabled: true, ...ofEast },
    clusterAgent: { enabled: true },
  },
};

let charts: Charts;
describe("a chart where people put it", withRenderer, () => {
  beforeAll(async () => {
    charts = await startCharts();
  });
  afterAll(() => charts?.remove());

  describe.each(names)("in an umbrella chart, %s", (name) => {
    /** An umbrella chart, with a condition as Helm's own documentation has it. */
    function umbrella(): string {
      const directory = join(charts.directory, `umbrella-${name}`);
      const archive = `${name}-${latchkeyVersion}.tgz`;
      mkdirSync(join(directory, "charts"), { recursive: true });
      cpSync(join(charts.directory, archive), join(directory, "charts", archive));
      const dependency = { name, version: latchkeyVersion, condition: `${name}.enabled` };
      const chart = { apiVersion: "v2", name: "umbrella", version: "1.0.0" };
      writeFileSync(
        join(directory, "Chart.yaml"),
        JSON.stringify({ ...chart, dependencies: [dependency] }),
      );
      return directory;
    }

    test.each([
      ["without values", {}],
      ["with its condition as true", { [name]: { enabled: true } }],
      ["with values for all charts", { global: { region: "a" } }],
    ])("has the same objects as alone, %s", async (_what, values) => {
      const [alone, within] = await Promise.all([
        charts.rendered({ chart: name }),
        charts.rendered({ chart: umbrella(), values }),
      ]);
      expect(within).toEqual(alone);
    });

    test("is left out with its condition as false", async () => {
      const values = { [name]: { enabled: false } };
      expect(await charts.rendered({ chart: umbrella(), values })).toEqual([]);
    });

    test("still refuses a typing mistake, and names the chart and the value", async () => {
      const values = { [name]: { enabled: true, imagePulSecrets: [] } };
      const { error } = await charts.render({ chart: umbrella(), values });
      expect(error).toContain(`${name}:\n- at '': additional properties 'imagePulSecrets'`);
    });
  });

  test.each(names)("all objects of %s have the recommended labels", async (name) => {
    const commonLabels = { "app.kubernetes.io/part-of": "platform", team: "a" };
    const values = { ...everything[name], commonLabels };
    for (const object of await charts.rendered({ chart: name, values })) {
      const labels = recordAt(recordAt(object, "metadata"), "labels");
      expect(labels).toMatchObject({
        ...commonLabels,
        "app.kubernetes.io/name": "latchkey",
        "app.kubernetes.io/instance": "r",
        "app.kubernetes.io/version": latchkeyVersion,
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": `${name}-${latchkeyVersion}`,
      });
    }
  });

  test.each(names)("labels of %s are in no selector", async (name) => {
    const values = { ...everything[name], commonLabels: { team: "a" } };
    const objects = byName(await charts.rendered({ chart: name, values }));
    const found = Object.entries(objects).flatMap(([object, manifest]) =>
      selectorsIn(manifest).flatMap((selector) =>
        [...releaseLabels, "team"]
          .filter((label) => label in selector)
          .map((label) => `${object}: ${label}`),
      ),
    );
    expect(found).toEqual([]);
  });

  /** The labels by which an object selects others. */
  function selectorsIn(value: unknown): readonly object[] {
    if (Array.isArray(value)) return value.flatMap(selectorsIn);
    if (!isRecord(value)) return [];
    return Object.entries(value).flatMap(([field, inner]) =>
      /^(?:matchLabels|selector)$/.test(field) && isRecord(inner)
        ? [inner, ...selectorsIn(inner)]
        : selectorsIn(inner),
    );
  }
});

test("the notes name pages that are published, and no path of the repository", () => {
  for (const name of ["latchkey", "connected"]) {
    const notes = readFileSync(join(repository, "release", "chart", `notes-${name}.txt`), "utf8");
    expect(notes).not.toMatch(/docs\//);
    const pages = [...notes.matchAll(/\{\{ \.Chart\.Home \}\}\/([\w/-]+\.md)/g)];
    expect(pages.length).toBeGreaterThan(2);
    for (const [, page = ""] of pages)
      expect(() => readFileSync(join(repository, "docs", page))).not.toThrow();
  }
  expect(URL.parse(documentation)?.protocol).toBe("https:");
});

/**
 * What the SecurityContextConstraints restricted-v2 of OpenShift ask of a pod, from its
 * documentation: user and fsGroup in the range of the namespace, which the platform chooses where a
 * pod leaves them out, no privileges, and no part of the node.
 */
const restricted = {
  inRange:
    "!has(variables.context.runAsUser) || (variables.context.runAsUser >= variables.range[0] && " +
    "variables.context.runAsUser < variables.range[0] + variables.range[1])",
  fsGroup:
    "!has(variables.context.fsGroup) || (variables.context.fsGroup >= variables.range[0] && " +
    "variables.context.fsGroup < variables.range[0] + variables.range[1])",
  users: "variables.containers.all(c, !has(c.securityContext.runAsUser))",
  seccomp:
    "!has(variables.context.seccompProfile) || variables.context.seccompProfile.type == 'RuntimeDefault'",
  escalation: "variables.containers.all(c, c.securityContext.allowPrivilegeEscalation == false)",
  capabilities:
    "variables.containers.all(c, c.securityContext.capabilities.drop == ['ALL'] && " +
    "!has(c.securityContext.capabilities.add))",
  node: "!has(object.spec.hostNetwork) && !has(object.spec.hostPID) && !has(object.spec.hostIPC)",
  volumes:
    "!has(object.spec.volumes) || object.spec.volumes.all(v, has(v.configMap) || has(v.secret) || " +
    "has(v.projected) || has(v.emptyDir) || has(v.downwardAPI))",
};
const policy = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "restricted-v2" },
  spec: {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
      ],
    },
    variables: [
      { name: "context", expression: "object.spec.securityContext" },
      { name: "containers", expression: "object.spec.containers" },
      {
        name: "range",
        expression:
          "namespaceObject.metadata.annotations['openshift.io/sa.scc.uid-range'].split('/').map(n, int(n))",
      },
    ],
    validations: Object.entries(restricted).map(([name, expression]) => ({
      expression,
      message: `restricted-v2: ${name}`,
    })),
  },
};
const binding = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "restricted-v2" },
  spec: { policyName: "restricted-v2", validationActions: ["Deny"] },
};

describe.skipIf(!hasDedicatedClusters)(
  "where OpenShift's restricted-v2 holds",
  withRenderer,
  () => {
    const namespace = "latchkey-system";
    let cluster: DedicatedCluster;

    beforeAll(async () => {
      [charts, cluster] = await Promise.all([
        startCharts(),
        startDedicatedCluster({ install: "nothing" }),
      ]);
      await cluster.arrange(
        postNamespace({
          name: namespace,
          annotations: { "openshift.io/sa.scc.uid-range": "1000680000/10000" },
          labels: { "pod-security.kubernetes.io/enforce": "restricted" },
        }),
      );
      const admission = "/apis/admissionregistration.k8s.io/v1";
      await cluster.arrange(post(`${admission}/validatingadmissionpolicies`, policy));
      await cluster.arrange(post(`${admission}/validatingadmissionpolicybindings`, binding));
      const outsider = {
        runAsUser: 1,
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      };
      const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
      const containers = [{ name: "a", image: "a", securityContext }];
      const isHeld = async () =>
        (await create({ name: "a" }, { securityContext: outsider, containers })).includes(
          "inRange",
        );
      await eventually(isHeld, { what: "the policy to hold" });
    });
    afterAll(async () => {
      await cluster?.stop();
      charts?.remove();
    });

    /** Asks for a pod, and returns why it is refused; empty if it is not. */
    async function create(metadata: object, spec: object): Promise<string> {
      const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
      const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
      const { code, message } = await cluster.ask({}, post(path, pod));
      return code === 201 ? "" : message;
    }

    /** Applies a chart, and returns why the pods of its Deployments are refused. */
    async function refusalsOf(name: (typeof names)[number], values: object) {
      const rendering = { chart: name, values: { ...everything[name], ...values } };
      await applyChart(charts, cluster.controlPlane, rendering);
      const objects = await charts.rendered(rendering);
      const deployments = objects.filter((object) => stringAt(object, "kind") === "Deployment");
      expect(deployments).toHaveLength(3);
      return Promise.all(
        deployments.map((deployment) => {
          const template = recordAt(recordAt(deployment, "spec"), "template");
          const own = stringAt(recordAt(deployment, "metadata"), "name") ?? "";
          const metadata = { ...recordAt(template, "metadata"), name: own };
          return create(metadata, recordAt(template, "spec"));
        }),
      );
    }

    test.each(names)("the pods of %s are refused as they are, and name the rule", async (name) => {
      for (const refusal of await refusalsOf(name, {}))
        expect(refusal).toContain("restricted-v2: inRange");
    });

    test.each(names)("the pods of %s are admitted with platformUser", async (name) => {
      expect(await refusalsOf(name, { platformUser: true })).toEqual(["", "", ""]);
    });
  },
);
