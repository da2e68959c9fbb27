/** How a placeholder of a secret begins, for those who need not know what follows. */
export const secretMark = "$secret$";

/** Whether a secret may be in some JSON, as far as the values of secrets are not known yet. */
export function holdsSecret(value: unknown): boolean {
  if (typeof value === "string") return value.includes(secretMark);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsSecret);
}
