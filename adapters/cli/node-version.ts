/**
 * Which Node this runs on. It imports nothing, and is written for a Node that knows neither what the rest imports nor its syntax: that one
 * is to read this file and say one line.
 */

/** The oldest that will do; `engines` in package.json says the same. */
const oldest = { major: 20, minor: 19 };

/** The line for a Node that is too old; null for one that will do. */
export function refuseNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < oldest.major || (major === oldest.major && minor < oldest.minor);
  if (!isOld) return null;
  return `fleetwright: it needs Node ${oldest.major}.${oldest.minor} or newer, and this is Node ${version} (${process.execPath}).\n`;
}
