/** The URLs by which a connected cluster knows the issuer. */
interface IssuerAddress {
  readonly issuer: string;
  /** The URL of the discovery document; undefined if it is below the issuer. */
  readonly discoveryUrl: string | undefined;
}

/**
 * The https URL at which a connected cluster would look for the issuer, with its option, if the
 * host is one that only the central cluster resolves. What kube-apiserver refuses when it reads the
 * file is left to kube-apiserver.
 */
export function clusterLocalAddress({
  issuer,
  discoveryUrl,
}: IssuerAddress):
  | { readonly option: "--issuer" | "--discovery-url"; readonly value: string }
  | undefined {
  const value = discoveryUrl ?? issuer;
  if (!isClusterLocal(value)) return undefined;
  return { option: discoveryUrl === undefined ? "--issuer" : "--discovery-url", value };
}

/** Whether the host is a name of one label or of a Service, such as `a.b.svc` or `a.b.svc.x.y`. */
function isClusterLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/\.$/, "");
  if (host.startsWith("[")) return false;
  const labels = host.split(".");
  return labels.length === 1 || labels.at(-1) === "svc" || labels.indexOf("svc", 2) !== -1;
}
