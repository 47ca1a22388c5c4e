package autoready

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds below have those fields of apps/v1, batch/v1 and autoscaling/v2
// that decide whether an object is valid. Importing the real packages would add
// a megabyte for the other kinds of their groups.

// An object has the fields that all kinds share.
type object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
}

type replicaSet struct {
	object `json:",inline"`
	Spec   struct {
		Replicas        *int32                 `json:"replicas"`
		MinReadySeconds int32                  `json:"minReadySeconds"`
		Selector        *metav1.LabelSelector  `json:"selector"`
		Template        corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	Status struct {
		Replicas             int32       `json:"replicas"`
		FullyLabeledReplicas int32       `json:"fullyLabeledReplicas"`
		ReadyReplicas        int32       `json:"readyReplicas"`
		AvailableReplicas    int32       `json:"availableReplicas"`
		TerminatingReplicas  *int32      `json:"terminatingReplicas"`
		ObservedGeneration   int64       `json:"observedGeneration"`
		Conditions           []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	Reason             string      `json:"reason"`
	Message            string      `json:"message"`
}

func (c condition) is(conditionType string) bool {
	return c.Type == conditionType && c.Status == string(metav1.ConditionTrue)
}

func (rs *replicaSet) ready() bool {
	want := int32(1)
	if rs.Spec.Replicas != nil {
		want = *rs.Spec.Replicas
	}
	for _, c := range rs.Status.Conditions {
		if c.is("ReplicaFailure") {
			return false
		}
	}
	return rs.Status.ObservedGeneration >= rs.Metadata.Generation && rs.Status.AvailableReplicas >= want
}

type job struct {
	object `json:",inline"`
	Spec   jobSpec `json:"spec"`
	Status struct {
		Conditions              []jobCondition `json:"conditions"`
		StartTime               *metav1.Time   `json:"startTime"`
		CompletionTime          *metav1.Time   `json:"completionTime"`
		Active                  int32          `json:"active"`
		Succeeded               int32          `json:"succeeded"`
		Failed                  int32          `json:"failed"`
		Terminating             *int32         `json:"terminating"`
		CompletedIndexes        string         `json:"completedIndexes"`
		FailedIndexes           *string        `json:"failedIndexes"`
		UncountedTerminatedPods *struct {
			Succeeded []string `json:"succeeded"`
			Failed    []string `json:"failed"`
		} `json:"uncountedTerminatedPods"`
		Ready *int32 `json:"ready"`
	} `json:"status"`
}

type jobCondition struct {
	condition     `json:",inline"`
	LastProbeTime metav1.Time `json:"lastProbeTime"`
}

type jobSpec struct {
	Parallelism           *int32 `json:"parallelism"`
	Completions           *int32 `json:"completions"`
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds"`
	PodFailurePolicy      *struct {
		Rules []struct {
			Action      string `json:"action"`
			OnExitCodes *struct {
				ContainerName *string `json:"containerName"`
				Operator      string  `json:"operator"`
				Values        []int32 `json:"values"`
			} `json:"onExitCodes"`
			OnPodConditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"onPodConditions"`
		} `json:"rules"`
	} `json:"podFailurePolicy"`
	SuccessPolicy *struct {
		Rules []struct {
			SucceededIndexes *string `json:"succeededIndexes"`
			SucceededCount   *int32  `json:"succeededCount"`
		} `json:"rules"`
	} `json:"successPolicy"`
	BackoffLimit            *int32                 `json:"backoffLimit"`
	BackoffLimitPerIndex    *int32                 `json:"backoffLimitPerIndex"`
	MaxFailedIndexes        *int32                 `json:"maxFailedIndexes"`
	Selector                *metav1.LabelSelector  `json:"selector"`
	ManualSelector          *bool                  `json:"manualSelector"`
	Template                corev1.PodTemplateSpec `json:"template"`
	TTLSecondsAfterFinished *int32                 `json:"ttlSecondsAfterFinished"`
	CompletionMode          *string                `json:"completionMode"`
	Suspend                 *bool                  `json:"suspend"`
	PodReplacementPolicy    *string                `json:"podReplacementPolicy"`
	ManagedBy               *string                `json:"managedBy"`
}

// ready uses the first Complete, Failed or Suspended condition that is true.
func (j *job) ready() bool {
	for _, c := range j.Status.Conditions {
		switch {
		case c.is("Failed"), c.is("Suspended"):
			return false
		case c.is("Complete"):
			return true
		}
	}
	return false
}

type cronJob struct {
	object `json:",inline"`
	Spec   struct {
		Schedule                string  `json:"schedule"`
		TimeZone                *string `json:"timeZone"`
		StartingDeadlineSeconds *int64  `json:"startingDeadlineSeconds"`
		ConcurrencyPolicy       string  `json:"concurrencyPolicy"`
		Suspend                 *bool   `json:"suspend"`
		JobTemplate             struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     jobSpec           `json:"spec"`
		} `json:"jobTemplate"`
		SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit"`
		FailedJobsHistoryLimit     *int32 `json:"failedJobsHistoryLimit"`
	} `json:"spec"`
	Status struct {
		Active             []corev1.ObjectReference `json:"active"`
		LastScheduleTime   *metav1.Time             `json:"lastScheduleTime"`
		LastSuccessfulTime *metav1.Time             `json:"lastSuccessfulTime"`
	} `json:"status"`
}

func (c *cronJob) ready() bool {
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		return true
	}
	scheduled, succeeded := c.Status.LastScheduleTime, c.Status.LastSuccessfulTime
	if scheduled == nil {
		return false
	}
	return len(c.Status.Active) > 0 || succeeded != nil && !succeeded.Time.Before(scheduled.Time)
}

type autoscaler struct {
	object `json:",inline"`
	Spec   struct {
		ScaleTargetRef reference      `json:"scaleTargetRef"`
		MinReplicas    *int32         `json:"minReplicas"`
		MaxReplicas    int32          `json:"maxReplicas"`
		Metrics        []metricSource `json:"metrics"`
		Behavior       *struct {
			ScaleUp   *scalingRules `json:"scaleUp"`
			ScaleDown *scalingRules `json:"scaleDown"`
		} `json:"behavior"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration *int64         `json:"observedGeneration"`
		LastScaleTime      *metav1.Time   `json:"lastScaleTime"`
		CurrentReplicas    int32          `json:"currentReplicas"`
		DesiredReplicas    int32          `json:"desiredReplicas"`
		CurrentMetrics     []metricStatus `json:"currentMetrics"`
		Conditions         []condition    `json:"conditions"`
	} `json:"status"`
}

type reference struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
}

type scalingRules struct {
	StabilizationWindowSeconds *int32  `json:"stabilizationWindowSeconds"`
	SelectPolicy               *string `json:"selectPolicy"`
	Policies                   []struct {
		Type          string `json:"type"`
		Value         int32  `json:"value"`
		PeriodSeconds int32  `json:"periodSeconds"`
	} `json:"policies"`
	Tolerance *resource.Quantity `json:"tolerance"`
}

type metricSource struct {
	Type   string `json:"type"`
	Object *struct {
		DescribedObject reference    `json:"describedObject"`
		Target          metricTarget `json:"target"`
		Metric          metric       `json:"metric"`
	} `json:"object"`
	Pods *struct {
		Metric metric       `json:"metric"`
		Target metricTarget `json:"target"`
	} `json:"pods"`
	Resource *struct {
		Name   string       `json:"name"`
		Target metricTarget `json:"target"`
	} `json:"resource"`
	ContainerResource *struct {
		Name      string       `json:"name"`
		Target    metricTarget `json:"target"`
		Container string       `json:"container"`
	} `json:"containerResource"`
	External *struct {
		Metric metric       `json:"metric"`
		Target metricTarget `json:"target"`
	} `json:"external"`
}

type metricTarget struct {
	Type               string             `json:"type"`
	Value              *resource.Quantity `json:"value"`
	AverageValue       *resource.Quantity `json:"averageValue"`
	AverageUtilization *int32             `json:"averageUtilization"`
}

type metric struct {
	Name     string                `json:"name"`
	Selector *metav1.LabelSelector `json:"selector"`
}

type metricStatus struct {
	Type   string `json:"type"`
	Object *struct {
		Metric          metric      `json:"metric"`
		Current         metricValue `json:"current"`
		DescribedObject reference   `json:"describedObject"`
	} `json:"object"`
	Pods *struct {
		Metric  metric      `json:"metric"`
		Current metricValue `json:"current"`
	} `json:"pods"`
	Resource *struct {
		Name    string      `json:"name"`
		Current metricValue `json:"current"`
	} `json:"resource"`
	ContainerResource *struct {
		Name      string      `json:"name"`
		Current   metricValue `json:"current"`
		Container string      `json:"container"`
	} `json:"containerResource"`
	External *struct {
		Metric  metric      `json:"metric"`
		Current metricValue `json:"current"`
	} `json:"external"`
}

type metricValue struct {
	Value              *resource.Quantity `json:"value"`
	AverageValue       *resource.Quantity `json:"averageValue"`
	AverageUtilization *int32             `json:"averageUtilization"`
}

// ready uses the first condition that decides.
func (a *autoscaler) ready() bool {
	for _, c := range a.Status.Conditions {
		switch {
		case c.is("FailedGetScale"), c.is("FailedUpdateScale"), c.is("FailedGetResourceMetric"), c.is("InvalidSelector"):
			return false
		case c.is("ScalingActive"), c.is("ScalingLimited"):
			return true
		}
	}
	return false
}
