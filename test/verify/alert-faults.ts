import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  annotations,
  apiVersion,
  labels,
  ownObjects,
  projectAssignmentPolicy,
} from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { issueCertificate, validityMs } from "../../src/tokens/certificate-signing.ts";
import { parseServerCertificates } from "../../src/tokens/server-certificates.ts";
import { apply, repository } from "../support/install.ts";
import type { KubectlAccess } from "../support/kubectl.ts";
import type { DefectiveReplica } from "./defective-replica.ts";
import type { DevRequests } from "./dev-requests.ts";

/** A running `make dev CONNECTED=1` in which a fault is caused. */
export interface FaultyCluster extends DevRequests {
  readonly access: KubectlAccess;
  readonly replica: DefectiveReplica;
}

/** Ends a fault. */
export type Mend = () => Promise<unknown>;

/** A fault and the alerts that it makes fire, without their `for`. */
export interface AlertFault {
  readonly fault: string;
  readonly alerts: readonly string[];
  readonly cause: (cluster: FaultyCluster) => Promise<Mend>;
}

const namespaced = "--namespace=latchkey-system";
const watch = "?watch=true";
const closed = "/kubernetes/cluster/closed/api/v1/namespaces/default/configmaps";
const open = "/kubernetes/cluster/connected/api/v1/namespaces/default/configmaps";

/** The first fault: afterwards, the replica with a defect leads. */
export const leaderFault: AlertFault = {
  fault: "the controller is suspended",
  alerts: ["LatchkeyNoLeader"],
  async cause({ pidOf, replica }) {
    const pid = pidOf("controller");
    process.kill(pid, "SIGSTOP");
    return async () => {
      await replica.start(pid);
      process.kill(pid, "SIGCONT");
    };
  },
};

/** Faults that stay until the end; all processes run on. */
export const lastingFaults: readonly AlertFault[] = [
  {
    fault: "a reconcile of that replica throws a TypeError, and another one does not end",
    alerts: ["LatchkeyReconcileBug"],
    async cause({ create, replica }) {
      for (const name of ["throws", "hangs"])
        await create("SharedSecret", {
          metadata: { namespace: "team-a", name },
          spec: { data: { a: "YQ==" } },
        });
      return () => replica.stop();
    },
  },
  {
    fault: "a Secret that Latchkey does not manage has the name of a copy",
    alerts: ["LatchkeyCopiesStuck"],
    async cause({ kubectl }) {
      await kubectl("admin", ["create", "namespace", "web-taken"]);
      await kubectl("admin", ["--namespace=web-taken", "create", "secret", "generic", "registry"]);
      const project = ["label", "namespace", "web-taken", "management.service/project=web"];
      await kubectl("admin", project);
      await kubectl("admin", [
        ...["annotate", "namespace", "web-taken", "management.service/sync=enabled"],
      ]);
      return () => kubectl("admin", ["--namespace=web-taken", "delete", "secret", "registry"]);
    },
  },
  {
    fault: "an issuer does not answer, and then the text of the issuers has an unknown field",
    alerts: ["LatchkeyTokenIssuerKeysOld", "LatchkeyTokenIssuersRefused"],
    async cause({ kubectl }) {
      const write = (verb: readonly string[], more: object): Promise<string> =>
        kubectl("admin", [...verb, "--filename=-"], {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: ownObjects.issuers, namespace: "latchkey-system" },
          data: {
            "issuers.yaml": JSON.stringify({
              apiVersion: "apiserver.config.k8s.io/v1",
              kind: "AuthenticationConfiguration",
              jwt: [{ issuer: { url: "https://127.0.0.1:1", audiences: ["ci"] }, ...more }],
            }),
          },
        });
      await write(["create"], {});
      // The former issuers count once they have been read.
      await pause(3_000);
      await write(["replace"], { userValidationRules: [] });
      return () => kubectl("admin", [namespaced, "delete", "configmap", ownObjects.issuers]);
    },
  },
  {
    fault: "the scope of a key names a role that does not exist",
    alerts: ["LatchkeyObjectsNotReady"],
    async cause({ create, kubectl }) {
      const spec = { user: "alice", key: "k".repeat(40), scope: { roles: [{ role: "missing" }] } };
      await create("OwnedAccessKey", { metadata: { name: "no-role" }, spec });
      return () => kubectl("admin", ["delete", "ownedaccesskey", "no-role"]);
    },
  },
  {
    fault: "a key is in the last tenth of its lifetime, because it was not used for long",
    alerts: ["LatchkeyLifetimesEnd"],
    async cause({ create, kubectl }) {
      const spec = { user: "alice", key: "e".repeat(40), ttl: 200_000, ttlAfterLastActivity: true };
      await create("OwnedAccessKey", { metadata: { name: "unused" }, spec });
      const lastActivity = `${new Date(Date.now() - 190_000_000).toISOString().slice(0, 19)}Z`;
      // A policy lets only accounts of Latchkey write it.
      const webhook = "--as=system:serviceaccount:latchkey-system:latchkey-webhook";
      await kubectl("admin", [
        ...["patch", "ownedaccesskey", "unused", "--subresource=status", "--type=merge"],
        ...[webhook, "--as-group=system:masters"],
        `--patch=${JSON.stringify({ status: { lastActivity } })}`,
      ]);
      return () => kubectl("admin", ["delete", "ownedaccesskey", "unused"]);
    },
  },
  {
    fault: "nothing listens at the address of a connected cluster",
    alerts: ["LatchkeyClusterUnreachable"],
    async cause({ kubectl }) {
      const clusters = "--namespace=latchkey-clusters";
      const encoded = await kubectl("admin", [
        ...["get", "secret", "connected", clusters, "--output=jsonpath={.data.kubeconfig}"],
      ]);
      const kubeconfig = Buffer.from(encoded, "base64")
        .toString("utf8")
        .replace(/https:\/\/[^"]*/, "https://127.0.0.1:1");
      await kubectl("admin", ["create", "--filename=-"], {
        apiVersion: "v1",
        kind: "Secret",
        stringData: { kubeconfig },
        metadata: {
          name: "closed",
          namespace: "latchkey-clusters",
          labels: { "management.service/cluster": "closed" },
        },
      });
      return () => kubectl("admin", ["delete", "secret", "closed", clusters]);
    },
  },
];

/** Other faults with which all processes run on, in an order in which none prevents the next. */
export const alertFaults: readonly AlertFault[] = [
  {
    fault: "the policy that guards labels in the connected cluster is not bound",
    alerts: ["LatchkeyClusterLabelsNotTrusted"],
    async cause({ kubectl }) {
      const binding = ["validatingadmissionpolicybinding", projectAssignmentPolicy];
      await kubectl("connected", ["delete", ...binding]);
      const policies = join(repository, "config", "connected-policies");
      return () => kubectl("connected", ["apply", "--server-side", `--kustomize=${policies}`]);
    },
  },
  {
    fault: "an administrator lets a policy select no object",
    alerts: ["LatchkeyPolicyChanged"],
    async cause({ kubectl }) {
      const select = (objectSelector: object | null) =>
        kubectl("admin", [
          ...["patch", "validatingadmissionpolicy", "latchkey-outbox", "--type=merge"],
          `--patch=${JSON.stringify({ spec: { matchConstraints: { objectSelector } } })}`,
        ]);
      await select({ matchLabels: { reason: "never" } });
      return () => select(null);
    },
  },
  {
    fault: "a role of scopes is larger than all of them may be",
    alerts: ["LatchkeyRolesLeftOut"],
    async cause({ kubectl }) {
      const resourceNames = Array.from({ length: 2_000 }, (_, index) =>
        `${index}`.padStart(200, "x"),
      );
      await kubectl("admin", ["create", "--filename=-"], {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "large", labels: { [labels.scopeRole]: "large" } },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames }],
      });
      return () => kubectl("admin", ["delete", "clusterrole", "large"]);
    },
  },
  {
    fault: "clients of the gateway send requests to that cluster",
    alerts: ["LatchkeyGatewayUpstream"],
    async cause({ codes }) {
      await codes(closed, 1);
      // The series must be scraped before it grows.
      await pause(3_000);
      await codes(closed, 100);
      // The requests have ended.
      return async () => {};
    },
  },
  {
    fault: "a key has more open watches than one key may have",
    alerts: ["LatchkeyGatewayFull"],
    cause: async ({ openWatches }) => openWatches(`${open}${watch}`, 300),
  },
  {
    fault: "a client opens 1,800 connections to port 8080 of the controller",
    alerts: ["LatchkeyPortUnderPressure"],
    async cause({ metricsOf }) {
      const [host = "", port = ""] = metricsOf("controller").split(":");
      const sockets: Socket[] = [];
      for (let index = 0; index < 1_800; index += 1) {
        sockets.push(connectTcp(Number(port), host).on("error", () => {}));
        if (index % 100 === 0) await pause(50);
      }
      return async () => sockets.forEach((socket) => socket.destroy());
    },
  },
  {
    fault: "the controller may only read SharedSecrets",
    alerts: ["LatchkeyReconcileErrors"],
    async cause({ access, kubectl }) {
      await kubectl("admin", [
        ...["patch", "clusterrole", "latchkey-controller", "--type=json"],
        `--patch=${readOnly(0)}`,
      ]);
      await kubectl("admin", ["create", "--filename=-"], {
        apiVersion: "v1",
        kind: "List",
        items: manySecrets("refused", {}),
      });
      return () => apply(access, "config/rbac");
    },
  },
  {
    fault: "API priority and fairness rejects concurrent writes of copies",
    alerts: ["LatchkeyRequestLimitLow"],
    async cause({ kubectl }) {
      const mend = await withoutConcurrency(kubectl, {
        account: "latchkey-controller",
        limitResponse: { type: "Reject" },
        apiGroups: [""],
        resources: ["secrets"],
        verbs: ["create", "update", "patch"],
      });
      await kubectl("admin", ["create", "--filename=-"], {
        apiVersion: "v1",
        kind: "List",
        items: manySecrets("busy", { "management.service/sync-to-projects": "web" }),
      });
      return mend;
    },
  },
  {
    fault: "the Secret of the gateway's certificates is overwritten",
    alerts: ["LatchkeyCertificateProblem"],
    async cause({ kubectl }) {
      const secret = ["secret", ownObjects.gatewayCertificates, namespaced];
      const patch = { data: { "tls.crt": "eA==" } };
      await kubectl("admin", ["patch", ...secret, `--patch=${JSON.stringify(patch)}`]);
      return () => kubectl("admin", ["delete", ...secret]);
    },
  },
  {
    fault: "kube-apiserver's client certificate ends in 20 days, and the webhook may not renew it",
    alerts: ["LatchkeyClientCertificateEnds"],
    async cause({ access, kubectl }) {
      await kubectl("admin", [
        ...["patch", "role", "latchkey-webhook", namespaced, "--type=json"],
        `--patch=${readOnly(1)}`,
      ]);
      const secret = ["secret", ownObjects.webhookCertificates, namespaced];
      const stored: unknown = JSON.parse(
        await kubectl("admin", ["get", ...secret, "--output=json"]),
      );
      const certificates = parseServerCertificates(stored);
      const client = await issueCertificate("client", certificates.ca, {
        dnsNames: certificates.dnsNames,
        clientName: "kube-apiserver",
        now: Date.now() - validityMs.client + 20 * 86_400_000,
      });
      const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64");
      const data = {
        "client.crt": encode(client.certificate),
        "client.key": encode(SecretText.reveal(client.privateKey)),
      };
      const patch = JSON.stringify({ data });
      await kubectl("admin", ["patch", ...secret, `--patch=${patch}`]);
      return () => apply(access, "config/rbac");
    },
  },
  {
    fault: "API priority and fairness lets the webhook wait for what it asks during a review",
    alerts: ["LatchkeyReviewsSlow"],
    async cause({ kubectl, create }) {
      await kubectl("admin", ["create", "configmap", "owner"]);
      const uid = await kubectl("admin", [
        ...["get", "configmap", "owner", "--output=jsonpath={.metadata.uid}"],
      ]);
      const queuing = { queues: 1, handSize: 1, queueLengthLimit: 50 };
      const mend = await withoutConcurrency(kubectl, {
        account: "latchkey-webhook",
        limitResponse: { type: "Queue", queuing },
        apiGroups: ["authorization.k8s.io"],
        resources: ["subjectaccessreviews"],
        verbs: ["create"],
      });
      // The webhook asks the API server whether alice may delete the owner; kube-apiserver does not
      // wait as long.
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid };
      const metadata = {
        name: "owned",
        ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
      };
      const spec = { user: "alice", key: "o".repeat(40) };
      await create("OwnedAccessKey", { metadata, spec }, "alice").catch(() => {});
      return mend;
    },
  },
];

/** The faults of a process, in an order in which none prevents the next. */
export const processFaults: readonly AlertFault[] = [
  {
    fault: "the agent of the connected cluster is suspended, and a SharedSecret is withdrawn",
    alerts: ["LatchkeyClusterAgentSilent", "LatchkeyWithdrawalsWait"],
    async cause({ kubectl, pidOf }) {
      const agent = pidOf("cluster-agent");
      process.kill(agent, "SIGSTOP");
      const sharedWith = `${annotations.syncToClusters}-`;
      await kubectl("admin", ["-n", "team-a", "annotate", "sharedsecret", "registry", sharedWith]);
      return async () => process.kill(agent, "SIGCONT");
    },
  },
  {
    fault: "the webhook starts without its ClusterRoleBinding",
    alerts: ["LatchkeyCacheNotFresh", "LatchkeyWatchOld"],
    async cause({ access, kubectl, pidOf }) {
      await kubectl("admin", ["delete", "clusterrolebinding", "latchkey-webhook"]);
      process.kill(pidOf("webhook"), "SIGKILL");
      return () => apply(access, "config/rbac");
    },
  },
  {
    fault: "a direct endpoint starts without its issuer and without its kept list",
    alerts: ["LatchkeyRevokedListOld"],
    async cause({ kubectl, pidOf }) {
      const issuer = pidOf("controller");
      process.kill(issuer, "SIGSTOP");
      const forget = JSON.stringify([{ op: "remove", path: "/data" }]);
      const secret = ["secret", ownObjects.directKeys, namespaced];
      await kubectl("connected", ["patch", ...secret, "--type=json", `--patch=${forget}`]);
      process.kill(pidOf("direct-endpoint"), "SIGKILL");
      return async () => process.kill(issuer, "SIGCONT");
    },
  },
  {
    fault: "the reconcile that does not end is in progress for five minutes",
    alerts: ["LatchkeyReconcileHangs"],
    // It began with the first of the lasting faults.
    cause:
      async ({ replica }) =>
      () =>
        replica.stop(),
  },
];

/** A JSON Patch of a role, of which one rule only permits to read then. */
function readOnly(rule: number): string {
  const value = ["get", "list", "watch"];
  return JSON.stringify([{ op: "replace", path: `/rules/${rule}/verbs`, value }]);
}

/** SharedSecrets in the namespace team-a. */
function manySecrets(name: string, annotations: object): readonly object[] {
  return Array.from({ length: 30 }, (_, index) => ({
    apiVersion,
    kind: "SharedSecret",
    metadata: { namespace: "team-a", name: `${name}-${index}`, annotations },
    spec: { data: { a: "YQ==" } },
  }));
}

/** Requests of a service account of latchkey-system, and what happens to those beyond a limit. */
interface Limited {
  readonly account: string;
  readonly limitResponse: object;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Gives requests a priority level without seats (Kubernetes, API Priority and Fairness). */
async function withoutConcurrency(
  kubectl: DevRequests["kubectl"],
  { account, limitResponse, ...matched }: Limited,
): Promise<Mend> {
  const version = "flowcontrol.apiserver.k8s.io/v1";
  const metadata = { name: `limited-${account}` };
  const seats = { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 };
  const level = {
    apiVersion: version,
    kind: "PriorityLevelConfiguration",
    metadata,
    spec: { type: "Limited", limited: { ...seats, limitResponse } },
  };
  const serviceAccount = { namespace: "latchkey-system", name: account };
  const rule = {
    subjects: [{ kind: "ServiceAccount", serviceAccount }],
    resourceRules: [{ ...matched, clusterScope: true, namespaces: ["*"] }],
  };
  const schema = {
    apiVersion: version,
    kind: "FlowSchema",
    metadata,
    spec: { matchingPrecedence: 2, priorityLevelConfiguration: metadata, rules: [rule] },
  };
  const list = { apiVersion: "v1", kind: "List", items: [level, schema] };
  await kubectl("admin", ["create", "--filename=-"], list);
  // kube-apiserver applies it when its informers have it.
  await pause(2_000);
  return () => kubectl("admin", ["delete", "flowschema", metadata.name]);
}
