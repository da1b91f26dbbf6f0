"""Scenarios and problems for the tests of tuning."""

import sluicegate as sg

# weight of losses: each packet of the limit adds delay and saves losses
WEIGHT = 150.0
GEO = sg.Scenario(
    title="room for packets",
    slots=40_000,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=30),
    disciplines=[sg.Discipline(aqm="drop_tail")],
)
ROOM = {"queue.limit": "1..60"}
SCORE = f"delay_mean + {WEIGHT}*loss_ratio"
RED = GEO.replace(
    queue=sg.Queue(limit=20),
    disciplines=[
        sg.Discipline(
            aqm="red",
            params={
                "min_th": 3,
                "max_th": 12,
                "max_p": 0.1,
                "w": 0.2,
                "spacing": "independent",
                "idle_decay": False,
            },
        )
    ],
)
THRESHOLDS = {"red.max_p": "0.01..1:log", "red.max_th": "5.0..19.0"}
