#!/usr/bin/env bash
# What each user of one installation may do in its Kafka. Run by an administrator:
#
#   BOOTSTRAP=broker:9092 ADMIN_CONFIG=admin.properties deploy/privileges/kafka.sh
#
# Topics are made by `store-data prepare`, run by an administrator once. The names of consumer groups begin with NAME_PREFIX.
set -euo pipefail
allow() { kafka-acls.sh --bootstrap-server "$BOOTSTRAP" --command-config "$ADMIN_CONFIG" --add "$@"; }

# The projector reads both topics, in groups of its own, and checks that they keep everything.
allow --allow-principal User:store-data-projector --resource-pattern-type prefixed --topic store-changes. --operation Read --operation Describe --operation DescribeConfigs
allow --allow-principal User:store-data-projector --resource-pattern-type prefixed --topic store-access. --operation Read --operation Describe --operation DescribeConfigs
allow --allow-principal User:store-data-projector --resource-pattern-type prefixed --group store_data. --operation Read --operation Describe

# The commands read both as well, publish keys, and remove the groups of generations that are gone.
allow --allow-principal User:store-data-operator --resource-pattern-type prefixed --topic store-changes. --operation Read --operation Describe --operation DescribeConfigs
allow --allow-principal User:store-data-operator --resource-pattern-type prefixed --topic store-access. --operation Read --operation Write --operation Describe --operation DescribeConfigs
allow --allow-principal User:store-data-operator --resource-pattern-type prefixed --group store_data. --operation Read --operation Describe --operation Delete

# Who publishes the stores' changes may do nothing else. The query service has no user: it does not talk to Kafka.
allow --allow-principal User:store-data-publisher --resource-pattern-type prefixed --topic store-changes. --operation Write --operation Describe
