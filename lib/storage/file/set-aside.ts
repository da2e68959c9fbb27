import { dirname } from "node:path";
import type { Disk } from "./disk.ts";

/** What a file is called that is not used any more, and kept for whoever wants to look what was lost. */
export const lostSuffix = ".lost";

/** Sets a file aside under the name `<path>.lost`; with its content a copy of it, and the file itself stays. Durable. */
export async function setAside(disk: Disk, path: string, content?: Buffer): Promise<void> {
  const target = path + lostSuffix;
  if (content === undefined) await disk.rename(path, target);
  else {
    const file = await disk.open(target, "replace");
    try {
      await file.write(content, 0);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  await disk.syncFolder(dirname(path));
}
