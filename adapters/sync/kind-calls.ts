/** The calls of each kind of thing in a fleet folder, all of one shape. */
import { folderInputs } from "fleetwright";
import type { FolderKind, FolderStep, Page, ReadFolderInput } from "fleetwright";
import type { Client } from "../client/client.ts";
import type { CallOptions } from "../client/http.ts";

/** The calls of one kind. */
export interface KindCalls {
  list(query: { limit: number; cursor?: string }): Promise<Page<object>>;
  create(step: FolderStep, options?: CallOptions): Promise<unknown>;
  change(step: FolderStep, options?: CallOptions): Promise<unknown>;
  remove(step: FolderStep, options?: CallOptions): Promise<unknown>;
}

/** What the client has for one kind. */
interface Verbs<Create, Change> {
  list: KindCalls["list"];
  create(input: Create, options?: CallOptions): Promise<unknown>;
  update(id: string, input: Change, options?: CallOptions): Promise<unknown>;
  remove(id: string, options?: CallOptions): Promise<unknown>;
}

/** The calls of a kind. */
export function callsOf(client: Client, kind: FolderKind): KindCalls {
  const { modules, operators } = client;
  switch (kind) {
    case "modules": {
      const { upload } = modules;
      const update = (_name: string, input: Parameters<typeof upload>[0], options?: CallOptions) =>
        upload(input, options);
      return toCalls({ ...modules, create: upload, update }, folderInputs.modules);
    }
    case "assignments":
      return toCalls(client.assignments, folderInputs.assignments);
    case "windows":
      return toCalls(client.maintenanceWindows, folderInputs.windows);
    case "channels":
      return toCalls(client.channels, folderInputs.channels);
    case "thresholds":
      return toCalls(client.thresholds, folderInputs.thresholds);
    case "operators":
      return toCalls(
        { ...operators, create: operators.add, update: operators.setRole },
        folderInputs.operators,
      );
  }
}

function toCalls<Create, Change>(
  verbs: Verbs<NoInfer<Create>, NoInfer<Change>>,
  read: { create: ReadFolderInput<Create>; change: ReadFolderInput<Change> },
): KindCalls {
  return {
    list: verbs.list,
    create: (step, options) => verbs.create(read.create(step), options),
    change: (step, options) => verbs.update(step.id!, read.change(step), options),
    remove: ({ id }, options) => verbs.remove(id!, options),
  };
}
