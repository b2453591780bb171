const openDatabases = new Set<() => Promise<void>>();

export function dropAfterFile(drop: () => Promise<void>): void {
  openDatabases.add(drop);
}

export async function dropOpenDatabases(): Promise<void> {
  for (const drop of openDatabases) await drop();
  openDatabases.clear();
}
