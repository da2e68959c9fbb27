/** Every type that ships with the package. Adding one: its file, one line here, its test, its page. */
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import { directoryResourceType } from "./directory.ts";
import { downloadResourceType } from "./download.ts";
import { fileResourceType } from "./file.ts";
import { gitResourceType } from "./git.ts";
import { lineResourceType } from "./line.ts";
import { scriptResourceType } from "./script.ts";
import { symlinkResourceType } from "./symlink.ts";

const types: ResourceType[] = [
  directoryResourceType,
  downloadResourceType,
  fileResourceType,
  gitResourceType,
  lineResourceType,
  scriptResourceType,
  symlinkResourceType,
];

/** The types by their name, in the order of the alphabet. */
export const resourceTypes: ResourceTypes = new Map(types.map((type) => [type.type, type]));
