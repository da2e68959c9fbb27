/** Every type that ships with the package. Adding one: its file, one line here, its test, its page. */
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import { authorizedKeyResourceType } from "./authorized-key.ts";
import { blockResourceType } from "./block.ts";
import { directoryResourceType } from "./directory.ts";
import { fileResourceType } from "./file.ts";
import { groupResourceType } from "./group.ts";
import { hostEntryResourceType } from "./host-entry.ts";
import { lineResourceType } from "./line.ts";
import { mountResourceType } from "./mount.ts";
import { scriptResourceType } from "./script.ts";
import { symlinkResourceType } from "./symlink.ts";
import { sysctlResourceType } from "./sysctl.ts";
import { userResourceType } from "./user.ts";

const types: ResourceType[] = [
  authorizedKeyResourceType,
  blockResourceType,
  directoryResourceType,
  fileResourceType,
  groupResourceType,
  hostEntryResourceType,
  lineResourceType,
  mountResourceType,
  scriptResourceType,
  symlinkResourceType,
  sysctlResourceType,
  userResourceType,
];

/** The types by their name, in the order of the alphabet. */
export const resourceTypes: ResourceTypes = new Map(types.map((type) => [type.type, type]));
