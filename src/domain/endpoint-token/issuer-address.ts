import { withoutEnd } from "../../api/text-end.ts";

/** The URLs by which a connected cluster knows the issuer. */
interface IssuerAddress {
  readonly issuer: string;
  readonly discoveryUrl: string | undefined;
}

/** An option that a connected cluster cannot use, and what to do. */
interface AddressProblem {
  readonly option: "--issuer" | "--discovery-url";
  readonly value: string;
  readonly fix: string;
}

/**
 * What kube-apiserver of a connected cluster refuses or cannot reach; undefined if the URLs work.
 * Both are https URLs.
 */
export function addressProblem({
  issuer,
  discoveryUrl,
}: IssuerAddress): AddressProblem | undefined {
  if (!isPlain(issuer)) return { option: "--issuer", value: issuer, fix: plainFix };
  if (discoveryUrl === undefined) {
    return isClusterLocal(issuer)
      ? {
          option: "--issuer",
          value: issuer,
          fix:
            "has a host that another cluster cannot resolve; set --discovery-url to the URL " +
            "at which the connected cluster reaches the discovery document",
        }
      : undefined;
  }
  const fix = discoveryFix(issuer, discoveryUrl);
  return fix === undefined ? undefined : { option: "--discovery-url", value: discoveryUrl, fix };
}

function discoveryFix(issuer: string, discoveryUrl: string): string | undefined {
  if (!isPlain(discoveryUrl)) return plainFix;
  if (withoutEnd(discoveryUrl, "/") === withoutEnd(issuer, "/"))
    return "must differ from --issuer; remove it, or append /.well-known/openid-configuration";
  if (new URL(discoveryUrl).pathname === "/")
    return (
      "must be the whole URL of the discovery document, such as " +
      "https://latchkey.example.com/.well-known/openid-configuration"
    );
  if (isClusterLocal(discoveryUrl))
    return (
      "has a host that another cluster cannot resolve; set the URL of an Ingress, a load " +
      "balancer or a node"
    );
  return undefined;
}

const plainFix =
  "must begin with https:// and a host, without spaces and backslashes, such as " +
  "https://latchkey.example.com";

/**
 * Whether Go parses the URL as JavaScript does, which also accepts `https:\\host` and `https:host`.
 */
function isPlain(url: string): boolean {
  return /^https:\/\/[^\s\\/@?#]+(?:\/[^\s\\?#]*)?$/.test(url);
}

/** Whether the host is a name of one label or of a Service, such as `a.b.svc` or `a.b.svc.x.y`. */
function isClusterLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/\.$/, "");
  if (host.startsWith("[")) return false;
  const labels = host.split(".");
  return labels.length === 1 || labels.at(-1) === "svc" || labels.indexOf("svc", 2) !== -1;
}
