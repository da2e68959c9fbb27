/** How whoever reads a hint calls this program. */
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/**
 * `fleetwright` where a shell finds it, as after an installation; else what finds it in the folder of a project or of the checkout, and
 * fetches nobody else's package of that name.
 */
export function ownCommand({ PATH = "" }: Readonly<Record<string, string | undefined>>): string {
  // npm adds its folders for what it runs, and for that alone.
  const folders = PATH.split(delimiter).filter(
    (folder) => isAbsolute(folder) && !/[/\\]node_modules[/\\]\.bin$/.test(folder),
  );
  return folders.some((folder) => isExecutable(join(folder, "fleetwright")))
    ? "fleetwright"
    : "npx --no-install fleetwright";
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
