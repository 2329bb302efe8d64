const name = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const domain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const longestDomain = 253;

/** Whether a text is the key of a label (Kubernetes apimachinery, IsQualifiedName). */
export function isQualifiedName(key: string): boolean {
  const [first = "", second, ...rest] = key.split("/", 3);
  if (rest.length > 0) return false;
  if (second === undefined) return name.test(first);
  return first.length <= longestDomain && domain.test(first) && name.test(second);
}

/** Whether a text is the value of a label (Kubernetes apimachinery, IsValidLabelValue). */
export function isLabelValue(value: string): boolean {
  return value === "" || name.test(value);
}
