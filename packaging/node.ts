/** The Node that comes with the programs: it is inside the agent's executables, and beside the server. */
import { fetchPackage } from "./registry.ts";

/** A kind of machine. */
export type Architecture = "x64" | "arm64";

/** Every kind of machine that programs are built for. */
export const architectures: readonly Architecture[] = ["x64", "arm64"];

/** Its version, with the hash of its package for each kind of machine. A newer one brings its own hashes: `npm view PACKAGE@VERSION dist.integrity`. */
export const nodeVersion = "24.21.0";
const nodeHashes: Readonly<Record<Architecture, string>> = {
  x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};

/**
 * Brings Node for a kind of machine.
 *
 * @param cache - Folder for what was brought before.
 * @returns The folder of its package, with `bin/node` and `LICENSE`.
 */
export function fetchNode(architecture: Architecture, cache: string): string {
  const wanted = {
    name: `node-linux-${architecture}`,
    version: nodeVersion,
    integrity: nodeHashes[architecture],
  };
  return fetchPackage(wanted, cache);
}
