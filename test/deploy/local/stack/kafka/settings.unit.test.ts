// The broker's settings mean the same in a properties file and in an image's environment.
import { expect, test } from 'vitest';
import { asImageEnvironment, asProperties, brokerSettings } from '#local/stack/kafka/settings.ts';

const listeners = { bind: '0.0.0.0', advertised: '127.0.0.1', port: 9092, controllerPort: 9093 };

test('clients are told the advertised address, and the controller stays on the loopback interface', () => {
  const settings = brokerSettings(listeners, '/data');
  expect(settings['listeners']).toBe('PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093');
  expect(settings['advertised.listeners']).toBe('PLAINTEXT://127.0.0.1:9092');
});

test('a properties file has a line for each setting', () => {
  expect(asProperties({ 'log.dirs': '/data', 'node.id': '1' })).toBe('log.dirs=/data\nnode.id=1\n');
});

test('the image gets each setting as the variable that its start script turns back into it', () => {
  expect(asImageEnvironment({ 'auto.create.topics.enable': 'false' })).toEqual({
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
  });
});

test('one of three brokers knows the controllers of all, and keeps three copies', () => {
  const ports = [
    [9001, 9002],
    [9092, 9093],
    [9201, 9202],
  ];
  const settings = brokerSettings(listeners, '/data', { index: 1, ports });
  expect(settings).toMatchObject({
    'node.id': '2',
    'controller.quorum.voters': '1@127.0.0.1:9002,2@127.0.0.1:9093,3@127.0.0.1:9202',
    'default.replication.factor': '3',
    'min.insync.replicas': '2',
  });
});
