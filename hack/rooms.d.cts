/** An import: the path of the file, and of what it imports. */
interface Import {
  readonly from: string;
  readonly to: string;
}
export function importsOf(...roots: readonly string[]): readonly Import[];
export function entangledRooms(imports: readonly Import[]): readonly Import[];
