"""What clients can say, each thing written once, without a colour. By noun: queue, lease, job..."""
