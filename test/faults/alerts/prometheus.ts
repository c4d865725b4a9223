/**
 * A Prometheus that scrapes services and evaluates our rules, in the shorter time of the drills.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '#local/stack/program.ts';
import { eventually } from '#test/eventually.ts';
import { RULES } from '../../deploy/prometheus/tools.ts';
import { makeHome } from '../servers/home.ts';
import { makeServer, onFreePorts, startAll } from '../servers/server.ts';
import { quicken } from './quick-rules.ts';

/** The shortest window is five times as long. */
const INTERVAL = '500ms';
const READY_MS = 60_000;

interface Alert {
  state: 'firing' | 'pending';
  labels: { alertname: string };
}

/** @param program the path of `prometheus`. @param targets `host:port` by the name of the job. */
export function startPrometheus(program: string, targets: Record<string, string>) {
  return onFreePorts(async () => {
    const home = await makeHome();
    const [port = 0] = await freePorts(1);
    const { data, logFile } = await home.room('prometheus');
    const [rules, config] = [join(home.path, 'alerts.yaml'), join(home.path, 'prometheus.yaml')];
    await writeFile(rules, quicken(await readFile(RULES, 'utf8')));
    await writeFile(
      config,
      stringify({
        global: {
          scrape_interval: INTERVAL,
          scrape_timeout: INTERVAL,
          evaluation_interval: INTERVAL,
        },
        rule_files: [rules],
        scrape_configs: Object.entries(targets).map(([job_name, target]) => ({
          job_name,
          static_configs: [{ targets: [target] }],
        })),
      }),
    );
    const address = `127.0.0.1:${port}`;
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ];
    const server = makeServer(home.context.guard, { file: program, args }, port, logFile);
    const close = async () => {
      await server.kill();
      await home.close();
    };
    const isReady = async () =>
      (await fetch(`http://${address}/-/ready`).catch(() => null))?.ok === true;
    try {
      await startAll([server], () => eventually('Prometheus is ready', isReady, READY_MS));
    } catch (error) {
      await close();
      throw error;
    }
    return {
      /** The names of the alerts that fire, and of those that will if nothing changes. */
      async alerts() {
        const answer = await fetch(`http://${address}/api/v1/alerts`);
        const { data: found } = (await answer.json()) as { data: { alerts: Alert[] } };
        const namesOf = (wanted: Alert['state']) =>
          new Set(
            found.alerts
              .filter(({ state }) => state === wanted)
              .map(({ labels }) => labels.alertname),
          );
        return { firing: namesOf('firing'), pending: namesOf('pending') };
      },
      close,
    };
  });
}
