/** What `npm run build:agent` made: the agent for machines that have no checkout. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** One file for machines. */
export interface AgentArtifact {
  /** What it is for: `linux-x64`, `linux-arm64` and `node` are archives for the installer, `linux-x64.deb` a package. */
  platform: string;
  /** Its name in the folder. */
  file: string;
  /** Hex. */
  sha256: string;
  /** Bytes. */
  size: number;
}

/** All of one version. */
export interface AgentArtifacts {
  version: string;
  artifacts: AgentArtifact[];
}

/**
 * Reads what there is now, so that a new build needs no new start.
 *
 * @param folder - Null: none.
 * @returns Null where nothing was built, or where what is there is no list of artifacts.
 */
export async function readAgentArtifacts(folder: string | null): Promise<AgentArtifacts | null> {
  if (folder === null) return null;
  try {
    const given: unknown = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
    return isArtifacts(given) ? given : null;
  } catch {
    return null;
  }
}

function isArtifacts(given: unknown): given is AgentArtifacts {
  const { version, artifacts } = (given ?? {}) as Partial<AgentArtifacts>;
  return isName(version) && Array.isArray(artifacts) && artifacts.length > 0 && artifacts.every(isArtifact);
}

function isArtifact(given: unknown): given is AgentArtifact {
  const { platform, file, sha256, size } = (given ?? {}) as Partial<AgentArtifact>;
  const isHash = typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
  return isName(platform) && isName(file) && isHash && Number.isSafeInteger(size);
}

/** A name that leads to no other folder, and is one word to a shell. */
function isName(text: unknown): text is string {
  return typeof text === "string" && /^[A-Za-z0-9_][A-Za-z0-9._~+-]{0,199}$/.test(text);
}
